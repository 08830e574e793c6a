/* What a reader should know beside the numbers: sentences.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOTES_H
#define DLB_SCENARIOS_JUDGE_NOTES_H

#include "scenarios/scenario.h"

/* Appends a sentence; false when memory is short. */
bool dlb_note(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What a cell's child left out under on_error = "skip", in words; false when nothing. */
bool dlb_skipped_text(const json_t *doc, char *text, size_t n_text);

/* Fills notes and drift_frac of a judgement whose cells are judged. False when memory is short. */
bool dlb_notes_fill(const struct dlb_plan *plan, const struct dlb_results *results,
                    struct dlb_judgement *judgement);

#endif
