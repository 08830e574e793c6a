/* From a configuration to a plan: cells, what is skipped and why, ceilings, order of execution.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_PLAN_PLAN_H
#define DLB_SCENARIOS_PLAN_PLAN_H

#include "scenarios/scenario.h"

/* persistent_workers shows at epoch borders, and the first border is the warm-up's. */
#define DLB_PERSISTENT_MIN_EPOCHS 3

/* The cross product of `axes` over the base configuration, the first axis slowest. A key without
 * effect in a combination
 * ("prefetch_factor" with 0 workers) keeps that axis's first value and skips the others; a
 * combination that the loaders refuse is skipped with their reason. DLB_E_CONFIG beyond
 * DLB_MAX_CELLS. */
int dlb_plan_cells(const struct dlb_plan_input *in, const json_t *axes, struct dlb_plan *plan,
                   struct dlb_err *err);

/* One ceiling per distinct device setting of the cells that run. */
int dlb_plan_ceilings(struct dlb_plan *plan, struct dlb_err *err);

/* The configs that read all data once: one per distinct data set of the cells that want it warm,
 * none for those that store nothing or read past the page cache. `as_is`: those that take it as it
 * is want it too, once, so that all of them find the same. */
int dlb_plan_warm(const struct dlb_plan_input *in, bool as_is, struct dlb_plan *plan,
                  struct dlb_err *err);

/* Tasks: the warm passes for all, then per block every cell and ceiling once, in an order of its
 * own that comes from the seed; a warm pass of its own before each repetition that wants one. With
 * plan->reference >= 0, that cell comes first in each block, and once more at the end. */
int dlb_plan_tasks(struct dlb_plan *plan, struct dlb_err *err);

/* num_workers {0, 1, 2, 4 .. n_cpus} x pin_memory x prefetch_factor {2, 4} x persistent_workers.
 * New reference. */
json_t *dlb_plan_default_axes(uint32_t n_cpus);

#endif
