/* Settings for a first sweep of a data set on this machine: for `dlbench init` and `dlbench PATH`.
 *
 * Floor 5. Control thread; does not print. */
#ifndef DLB_BENCH_VERBS_PROPOSE_H
#define DLB_BENCH_VERBS_PROPOSE_H

#include "bench/verbs/inspect.h"

#include <jansson.h>
#include <stdint.h>

#define DLB_PROPOSE_RESNET50_SOURCE "MLPerf Storage: ResNet-50 on an H100, 224 ms for 400 samples"

/* DATASET_NOT_DECODED for images that would be read as bytes because no codec takes them, unless
 * the codec was said: the verdict on such a sweep would be wrong. */
int dlb_propose_check(const char *path, const struct dlb_inspected *in, struct dlb_err *err);

/* Of training whose batches and steps are not known: at most 256 samples a batch, few enough for
 * several batches an epoch. */
uint64_t dlb_propose_batch(const struct dlb_inspected *in);

/* The milliseconds of a ResNet-50 step with such a batch, for images; else 0: no network is known.
 */
double dlb_propose_step_ms(const struct dlb_inspected *in, uint64_t batch);

/* How many frames of a clip to take: the median clip, of 10 s at most. 0: no audio. */
uint64_t dlb_propose_frames(const struct dlb_inspected *in);

/* For batches of `batch` samples: a flat object {"section.key": value}, in the order of the
 * configuration's sections, with the lists of the sweep under "sweep.". device.step_ms is left out
 * where it is not known. dataset.path is absolute, or as given where the absolute path is not
 * UTF-8; `path` itself is. New reference. */
json_t *dlb_propose(const char *path, const struct dlb_inspected *in, uint64_t batch);

/* Why the key has its value, for a comment; "" where nothing is to be said. Borrowed from `text`.
 */
const char *dlb_propose_why(const char *key, const struct dlb_inspected *in, char *text,
                            size_t n_text);

#endif
