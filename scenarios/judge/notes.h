/* The notes on a result beside its numbers.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOTES_H
#define DLB_SCENARIOS_JUDGE_NOTES_H

#include "scenarios/scenario.h"

/* What a repetition left out under on_error = "skip", in words; false when nothing. */
bool dlb_skipped_text(const struct dlb_cell_result *rep, char *text, size_t n_text);

/* Fills notes and drift_frac of a judgement whose cells are judged.*/
void dlb_notes_fill(const struct dlb_plan *plan, const struct dlb_results *results,
                    struct dlb_judgement *judgement);

#endif
