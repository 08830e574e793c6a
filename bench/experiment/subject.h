/* What an experiment measures, found out before it is planned: the data set's shape, the host.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_SUBJECT_H
#define DLB_BENCH_EXPERIMENT_SUBJECT_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "scenarios/scenario.h"

/* The spec of the first cell, which says what data set and device there are. */
int dlb_subject_spec(const struct dlb_config *cfg, const struct dlb_scenario *scenario,
                     struct dlb_subject *out, struct dlb_err *err);

/* Whether an interpreter has to be asked before cells are planned: of data that only Python reads
 * (dataset.format = "python") without python.samples, and where a list is over what a sampler in
 * the user's module would decide. */
bool dlb_subject_asks(const struct dlb_config *cfg, const struct dlb_scenario *scenario,
                      const struct dlb_spec *spec);

/* If it has to: asks for what python.samples, python.sample_bytes and python.iterable leave open,
 * and sets these in cfg and in out->spec; puts the samplers of the user's module into out->torch.
 */
int dlb_subject_ask(struct dlb_config *cfg, const struct dlb_scenario *scenario,
                    const char *scratch, struct dlb_subject *out, struct dlb_err *err);

/* Opens the data set that out->spec names, in a child process: storage that does not answer
 * must not keep this one from answering. With scenario->sweeps it is that of the first cell.
 * `waiting` is called while that takes long. */
int dlb_subject_look(const struct dlb_scenario *scenario, struct dlb_subject *out,
                     void (*waiting)(void *ctx), void *ctx, struct dlb_err *err);

/* Whether an interpreter can load these data with PyTorch, as sweep.confirm wants it known: fills
 * out->torch. An error only with sweep.confirm = "torch", or an interrupt. After dlb_subject_look.
 */
int dlb_subject_torch(const char *scratch, struct dlb_subject *out, struct dlb_err *err);

/* The input of plan() about data and machine. Slow measurements are made only with
 * scenario->weighs_host. */
void dlb_subject_host(const struct dlb_subject *subject, const struct dlb_scenario *scenario,
                      uint32_t n_cpus, struct dlb_plan_host *out);

/* The machine, as environment.json and summary.json describe it. New reference. */
json_t *dlb_subject_environment(const struct dlb_subject *subject);

#endif
