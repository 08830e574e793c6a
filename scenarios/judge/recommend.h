/* The recommendation by medians, and what one by a race has in common with it.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_RECOMMEND_H
#define DLB_SCENARIOS_JUDGE_RECOMMEND_H

#include "scenarios/scenario.h"

/* Best: the highest median samples/s of the cells that are ok and neither INCOMPLETE nor
 * HARNESS-BOUND. If there is none, the best of the others, and nothing is recommended.
 * Recommended: the smallest cell (fewest workers, then least slot memory, then lowest number)
 * that does the same work and loses less than sweep.tolerance to the best. The loss is paired by
 * block, and its upper bound counts. If no smaller cell passes, but the repetitions cannot tell
 * some smaller cells from the best, there is no recommendation: `set` holds these and the best.
 * Fills best, rival of each cell, recommended, separable, set and text. For plans without a race.
 */
void dlb_recommend(const struct dlb_plan *plan, struct dlb_judgement *j);

/* The fastest of the cells that are judged; where none is, of those that are measured; or NULL.
 * Sets j->best. */
const struct dlb_judged_cell *dlb_best_by_median(struct dlb_judgement *j);

void dlb_add_to_set(struct dlb_judgement *j, uint32_t cell);

/* "Best: cell 3, 801 samples/s (...). " Returns its length; 0 if that is all there is to say. */
size_t dlb_say_best(const struct dlb_judgement *j, char *text, size_t n_text);

/* " 2 cells are left out as INCOMPLETE or HARNESS-BOUND.", or nothing. */
void dlb_say_unjudged(const struct dlb_judgement *j, char *text, size_t n_text);

#endif
