/* A command that all ranks do a share of, and rank 0 judges: what `gen` and `convert` have in
 * common.
 *
 * Floor 4, private to scenarios/ranks. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_SHARED_H
#define DLB_SCENARIOS_RANKS_SHARED_H

#include "core/base/err.h"
#include "scenarios/ranks/link.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

/* Rank 0: tells the others to begin. */
int dlb_shared_begin(struct dlb_link *link, const json_t *command, struct dlb_err *err);

/* Each rank, when its share has ended: tells rank 0 what became of it. `rc`: of `failed`. */
int dlb_shared_answer(struct dlb_link *link, uint64_t n_written, int rc,
                      const struct dlb_err *failed, struct dlb_err *err);

/* Rank 0, behind its own answer: waits for those of all. The error is that of the first rank that
 * failed by itself, by name; of those that were ended because of it, none. Adds to *n_written. */
int dlb_shared_judge(struct dlb_link *link, const atomic_bool *cancel, uint64_t *n_written,
                     struct dlb_err *err);

#endif
