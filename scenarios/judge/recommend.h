/* What a recommendation by medians and one by a race share.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_RECOMMEND_H
#define DLB_SCENARIOS_JUDGE_RECOMMEND_H

#include "scenarios/scenario.h"

bool dlb_is_measured(const struct dlb_judged_cell *cell);

/* How much `cell` loses to `best` in the blocks that both have. */
struct dlb_estimate dlb_paired_loss(const struct dlb_judged_cell *cell,
                                    const struct dlb_judged_cell *best, uint64_t seed);

/* What the recommended cell may lose to the best (sweep.tolerance). */
double dlb_tolerance(const struct dlb_plan *plan);

/* The fastest of the cells that are judged; where none is, of those that are measured; or NULL.
 * Sets j->best. */
const struct dlb_judged_cell *dlb_best_by_median(const struct dlb_plan *plan,
                                                 struct dlb_judgement *j);

void dlb_add_to_set(struct dlb_judgement *j, uint32_t cell);

/* "Best: cell 3, 801 samples/s (...). " Returns its length; 0 if that is all there is to say. */
size_t dlb_say_best(const struct dlb_plan *plan, const struct dlb_judgement *j, char *text,
                    size_t n_text);

/* " 2 cells are left out as INCOMPLETE or HARNESS-BOUND.", or nothing. */
void dlb_say_unjudged(const struct dlb_plan *plan, const struct dlb_judgement *j, char *text,
                      size_t n_text);

#endif
