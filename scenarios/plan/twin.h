/* A cell's null-source twin: the same accelerators, workers, batches in bytes and slots, and a
 * source that costs nothing. What it reaches is the harness's own ceiling; what a cell on storage
 * shows beside it is the storage's only as far as the harness leaves room.
 *
 * Floor 4. Pure; any thread. The rule is dlb_judge's: HARNESS-BOUND where the twin's device stands
 * still for more than DLB_HARNESS_MAX of its time, or where the harness could not go
 * DLB_HEADROOM_MIN times as fast as the cell did. */
#ifndef DLB_SCENARIOS_PLAN_TWIN_H
#define DLB_SCENARIOS_PLAN_TWIN_H

#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <stdint.h>

enum dlb_twin {
    DLB_TWIN_STEPS, /* with the cell's steps: what the harness takes of them */
    DLB_TWIN_FREE,  /* with steps and copies that take no time: how fast the harness could go */
};

/* sample_bytes: payload bytes of a mean sample (n_bytes / n_samples of what the cell measured). */
void dlb_twin_spec(const struct dlb_spec *cell, uint64_t sample_bytes, enum dlb_twin what,
                   struct dlb_spec *out);

/* Of the repetitions of DLB_TWIN_STEPS, in the median: the share of the window in which the device
 * stood still though data cost nothing, copies left out. Evidence's harness_frac. NaN without a
 * window. */
double dlb_twin_share(const struct dlb_reps *reps);

/* Of the repetitions of DLB_TWIN_FREE, in the median: their samples/s over those of the cell.
 * Evidence's harness_headroom. NaN without a window. */
double dlb_twin_headroom(const struct dlb_reps *reps, double samples_per_s);

#endif
