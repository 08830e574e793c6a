/* The recommendation of a race (core/measure/race.h).
 *
 * Floor 4, private to the judge. Pure. For plans with a race. */
#ifndef DLB_SCENARIOS_JUDGE_RACED_H
#define DLB_SCENARIOS_JUDGE_RACED_H

#include "core/measure/race.h"
#include "scenarios/scenario.h"

#include <jansson.h>

/* Probability from which a cell of an undecided race is named as a candidate. */
#define DLB_CANDIDATE_MIN 0.02

/* Best: the least loss by the race's model; before the race has ended, the highest median.
 * Recommended and separable: where the race has decided. Else `set` holds the candidates. Fills
 * modelled_loss_frac and rival of each cell, best, recommended, separable, set and text. */
void dlb_recommend_raced(const struct dlb_plan *plan, struct dlb_judgement *j);

/* What the recommendation without a race has in common with it. The best: whose modelled_loss_frac
 * is the least. */
void dlb_best_by_model(struct dlb_judgement *j);

/* Adds them to j->set, by falling probability. Before the first look nothing is known of any. */
void dlb_find_candidates(const struct dlb_race *race, struct dlb_judgement *j);

/* "3 (60%), 5 (21%) and 2 more" */
void dlb_say_candidates(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                        size_t n_text);

/* recommendation_detail, null where nothing was swept; cells[].race, null without a race, or for a
 * cell that did not run. New references. */
json_t *dlb_raced_detail_json(const struct dlb_plan *plan, const struct dlb_judgement *j);
json_t *dlb_raced_cell_json(const struct dlb_plan *plan, uint32_t cell);

#endif
