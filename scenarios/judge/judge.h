/* From what repetitions measured to numbers, verdicts and a recommendation.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_JUDGE_H
#define DLB_SCENARIOS_JUDGE_JUDGE_H

#include "scenarios/scenario.h"

#define DLB_DRIFT_NOTED 0.05  /* of the reference cell, from the first blocks to the last */
#define DLB_SEPARABLE_MIN_N 2 /* blocks that two cells must share before they are compared */

/* judge() of scenarios whose cells are consumer runs: every cell's estimate, evidence and verdict;
 * best and recommended; notes. */
void dlb_judge_cells(const struct dlb_plan *plan, const struct dlb_results *results,
                     uint32_t n_cpus, struct dlb_judgement *out);

/* The part of dlb_judge_cells that recommends nothing: estimates, evidence and verdicts. */
void dlb_judge_each(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                    struct dlb_judgement *out);

/* Fills pytorch and not_modelled from best, recommended and set. */
void dlb_judge_settings(const struct dlb_plan *plan, struct dlb_judgement *judgement);

/* Bytes per sample times samples per second. Workers also read before the window and ahead of
 * it, so their bytes cannot be divided by the window's time. NaN without a window. */
double dlb_judged_read_bytes_per_s(const struct dlb_judged_cell *cell);

/* Whether the rate says something about the loader: status ok, and neither INCOMPLETE nor
 * HARNESS-BOUND. */
bool dlb_is_judged(const struct dlb_judged_cell *cell);

/* Whether two cells do the same work, so that their rates may be compared. */
bool dlb_is_rival(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                  const struct dlb_plan_cell *best);

/* Best: the highest median samples/s of the cells that are ok and neither INCOMPLETE nor
 * HARNESS-BOUND. If there is none, the best of the others, and nothing is recommended.
 * Recommended: the smallest cell (fewest workers, then least slot memory, then lowest number)
 * that does the same work and loses less than sweep.tolerance to the best. The loss is paired by
 * block, and its upper bound counts. If no smaller cell passes, but the repetitions cannot tell
 * some smaller cells from the best, there is no recommendation: `set` holds these and the best.
 * Fills best, recommended, separable, set and text. For plans without a race. */
void dlb_recommend(const struct dlb_plan *plan, struct dlb_judgement *judgement);

/* "DataLoader(dataset, batch_size=256, num_workers=4, ...)" for a cell's settings. left_out: keys
 * that DataLoader's default holds for ("loader.pin_memory"), an array; or NULL. */
void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, const json_t *left_out,
                      char *text, size_t n_text);

#endif
