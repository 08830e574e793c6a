/* A note on a result: a sentence with a stable code (notes.def).
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOTE_H
#define DLB_SCENARIOS_JUDGE_NOTE_H

#include <jansson.h>
#include <stdbool.h>

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

#endif
