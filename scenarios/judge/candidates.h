/* The best cell, and those that may be the answer, with and without a race.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_CANDIDATES_H
#define DLB_SCENARIOS_JUDGE_CANDIDATES_H

#include "core/measure/race.h"
#include "scenarios/scenario.h"

/* Probability from which a cell is named as a candidate. */
#define DLB_CANDIDATE_MIN 0.02

/* The fastest of the cells that are judged; where none is, of those that are measured; or NULL.
 * Sets j->best. */
const struct dlb_judged_cell *dlb_best_by_median(struct dlb_judgement *j);

/* The one whose modelled_loss_frac is the least; without one as above. Sets j->best. */
void dlb_best_by_model(struct dlb_judgement *j);

void dlb_add_to_set(struct dlb_judgement *j, uint32_t cell);

/* Adds the candidates to j->set, by falling probability. Before the first look nothing is known of
 * any. */
void dlb_find_candidates(const struct dlb_race *race, struct dlb_judgement *j);

/* "Best: cell 3, 801 samples/s (...). " Returns its length; 0 if that is all there is to say. */
size_t dlb_say_best(const struct dlb_judgement *j, char *text, size_t n_text);

/* " 2 cells are left out as INCOMPLETE or HARNESS-BOUND.", or nothing. */
void dlb_say_unjudged(const struct dlb_judgement *j, char *text, size_t n_text);

/* "3 (60%), 5 (21%) and 2 more" */
void dlb_say_candidates(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                        size_t n_text);

#endif
