/* Notes on a result beside its numbers: sentences, each with a stable code (notes.def).
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOTES_H
#define DLB_SCENARIOS_JUDGE_NOTES_H

#include "scenarios/scenario.h"

enum dlb_note_code {
#define X(name, text) DLB_NOTE_##name,
#include "scenarios/judge/notes.def"
#undef X
    DLB_N_NOTES
};

/* Appends {"code": "NAME", "text": ...}. */
void dlb_note(json_t *list, enum dlb_note_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the list has a note of that code and text. */
bool dlb_note_is_there(const json_t *list, enum dlb_note_code code, const char *text);

/* What a repetition left out under on_error = "skip", in words; false when nothing. */
bool dlb_skipped_text(const struct dlb_cell_result *rep, char *text, size_t n_text);

/* Fills notes and drift_frac of a judgement whose cells are judged.*/
void dlb_notes_fill(const struct dlb_plan *plan, const struct dlb_results *results,
                    struct dlb_judgement *judgement);

#endif
