/* The recommendation of a race (core/measure/race.h).
 *
 * Floor 4, private to the judge. Pure. For plans with a race. */
#ifndef DLB_SCENARIOS_JUDGE_RACED_H
#define DLB_SCENARIOS_JUDGE_RACED_H

#include "scenarios/scenario.h"

#include <jansson.h>

/* Best: the least loss by the race's model; before the race has ended, the highest median.
 * Recommended and separable: where the race has decided. Else `set` holds the candidates. Fills
 * modelled_loss_frac and rival of each cell, best, recommended, separable, set and text. */
void dlb_recommend_raced(const struct dlb_plan *plan, struct dlb_judgement *j);

/* Notes the cell whose median exceeds the best's most, by more than the tolerance, if
 * the two share some of their blocks, and not all. */
void dlb_raced_note(const struct dlb_judgement *j, json_t *notes);

/* recommendation_detail, null where nothing was swept; cells[].race, null without a race, or for a
 * cell that did not run. New references. */
json_t *dlb_raced_detail_json(const struct dlb_plan *plan, const struct dlb_judgement *j);
json_t *dlb_raced_cell_json(const struct dlb_plan *plan, uint32_t cell);

#endif
