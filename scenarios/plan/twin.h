/* A cell's null-source twin: the same accelerators, workers, batches in bytes and slots, and a
 * source that costs nothing. Its rate is the harness's own ceiling. If the twin is not much faster,
 * the cell's rate says nothing about storage.
 *
 * Floor 4. Pure; any thread. The rule is dlb_judge's: HARNESS-BOUND if the twin's device idles
 * for more than DLB_HARNESS_MAX of its time, or if the twin with free steps is less than
 * DLB_HEADROOM_MIN times as fast as the cell. */
#ifndef DLB_SCENARIOS_PLAN_TWIN_H
#define DLB_SCENARIOS_PLAN_TWIN_H

#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <stdint.h>

enum dlb_twin {
    DLB_TWIN_STEPS, /* with the cell's steps: how much of their time the harness takes */
    DLB_TWIN_FREE,  /* with steps and copies that take no time: how fast the harness could go */
};

/* sample_bytes: payload bytes of a mean sample (n_bytes / n_samples of what the cell measured). */
void dlb_twin_spec(const struct dlb_spec *cell, uint64_t sample_bytes, enum dlb_twin what,
                   struct dlb_spec *out);

/* Median over repetitions of DLB_TWIN_STEPS, or of a ceiling: the share of the window in which the
 * device idled although data cost nothing. Exposed copies are not counted. Evidence's harness_frac
 * and ceiling_idle_frac. NaN without a window. */
double dlb_twin_share(const struct dlb_reps *reps);

/* Median over repetitions of DLB_TWIN_FREE: their samples/s divided by the cell's. Evidence's
 * harness_headroom. NaN without a window. */
double dlb_twin_headroom(const struct dlb_reps *reps, double samples_per_s);

#endif
