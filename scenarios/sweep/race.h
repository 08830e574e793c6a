/* The bridge between a sweep and the race among its cells (core/measure/race.h).
 *
 * Floor 4, private to the sweep. Control thread; pure. */
#ifndef DLB_SCENARIOS_SWEEP_RACE_H
#define DLB_SCENARIOS_SWEEP_RACE_H

#include "scenarios/scenario.h"

/* Whether these cells can race: two run at least, all do the same work in the same pipeline, and
 * the sweep is not to be exhaustive. */
bool dlb_sweep_can_race(const struct dlb_plan *plan, const struct dlb_sweep_opts *opts);

/* Gives the plan a race and its first block. The smallest cell has the fewest workers, then the
 * least memory of batches, then the lowest number. */
void dlb_sweep_race_begin(struct dlb_plan *plan, const struct dlb_sweep_opts *opts,
                          uint32_t n_cpus);

/* Records the block that has ended and adds the next one, or nothing where the race has ended.
 * Where plan->torch.there, PyTorch's own cells are then added, and their race begins. A
 * cell that failed runs no more, nor one that is not judged after DLB_SWEEP_RACE_JUDGED runs. */
#define DLB_SWEEP_RACE_JUDGED 3
void dlb_sweep_race_next(struct dlb_plan *plan, const struct dlb_results *results);

/* The time that is left, and what the last block says that blocks and runs take. */
struct dlb_race_budget dlb_sweep_race_budget(const struct dlb_plan *plan,
                                             const struct dlb_results *results);

#endif
