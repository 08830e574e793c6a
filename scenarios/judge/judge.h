/* From what repetitions measured to numbers, verdicts and a recommendation.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_JUDGE_H
#define DLB_SCENARIOS_JUDGE_JUDGE_H

#include "scenarios/scenario.h"

#define DLB_LOSS_MAX 0.02     /* what a smaller cell may lose to the best, at the upper bound */
#define DLB_DRIFT_NOTED 0.05  /* of the reference cell, from the first blocks to the last */
#define DLB_SEPARABLE_MIN_N 2 /* blocks that two cells must share before they are compared */

/* judge() of scenarios whose cells are consumer runs: every cell's estimate, evidence and verdict;
 * best and recommended; notes. */
void dlb_judge_cells(const struct dlb_plan *plan, const struct dlb_results *results,
                     uint32_t n_cpus, struct dlb_judgement *out);

/* Fills pytorch and not_modelled, as best, recommended and set say. */
void dlb_judge_settings(const struct dlb_plan *plan, struct dlb_judgement *judgement);

/* What loading its samples reads, at the pace of the window: workers load ahead and before it, so
 * that their bytes cannot be divided by its time. NaN without one. */
double dlb_judged_read_bytes_per_s(const struct dlb_judged_cell *cell);

/* Whether it was measured and its verdict lets the rate say something of the loader: ok, and
 * neither INCOMPLETE nor HARNESS-BOUND. */
bool dlb_is_judged(const struct dlb_judged_cell *cell);

/* Best: the highest median samples/s of the cells that are ok and neither INCOMPLETE nor
 * HARNESS-BOUND; where all are, of those, and nothing is recommended. Recommended: of those that do
 * the same work and whose loss to the best, paired by block, has an upper bound below DLB_LOSS_MAX,
 * the one with fewest workers, then least slot memory, then the lowest number. When no smaller cell
 * than the best passes and some of those cannot be told from it, there is no recommendation and
 * `set` holds them and the best; cells of its size and larger ones play no part in that. Fills
 * best, recommended, separable, set and text. */
void dlb_recommend(const struct dlb_plan *plan, struct dlb_judgement *judgement);

/* "DataLoader(dataset, batch_size=256, num_workers=4, ...)" for a cell's settings. */
void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, char *text, size_t n_text);

#endif
