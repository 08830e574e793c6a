/* The recommendation without a race.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_RECOMMEND_H
#define DLB_SCENARIOS_JUDGE_RECOMMEND_H

#include "scenarios/scenario.h"

/* Where all cells ran alike: with sweep.exhaustive, or among cells of other work. Best: the least
 * loss by the race's model (core/measure/race_model.h) among the cells that do the same work as the
 * highest median, are ok and neither INCOMPLETE nor HARNESS-BOUND; before three repetitions the
 * highest median. If there is no such cell, the best of the others, and nothing is recommended.
 * Recommended: the smallest cell (fewest workers, then least slot memory, then lowest number) whose
 * probability to lose less than sweep.tolerance to the best is DLB_RACE_ALIKE, unless another may
 * be an exception that beats it. Else `set` holds the candidates, or, before three repetitions, all
 * cells that were compared. Fills best, modelled_loss_frac and rival of each cell, recommended,
 * separable, set, probability, loss_frac and text. For plans without a race. */
void dlb_recommend(const struct dlb_plan *plan, struct dlb_judgement *j);

#endif
