#include "scenarios/judge/note.h"

#include "core/base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) #name,
#include "scenarios/judge/notes.def"
#undef X
};

void dlb_note(json_t *list, enum dlb_note_code code, const char *fmt, ...)
{
    char text[1100];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    json_t *note = dlb_json_made(json_pack("{ss}", "code", names[code]));
    dlb_json_put(note, "text", dlb_json_safe_text(text));
    dlb_json_append(list, note);
}

bool dlb_note_is_there(const json_t *list, enum dlb_note_code code, const char *text)
{
    const json_t *note;
    size_t i;
    json_array_foreach(list, i, note) {
        if (strcmp(dlb_json_text(note, "code"), names[code]) == 0 &&
            strcmp(dlb_json_text(note, "text"), text) == 0)
            return true;
    }
    return false;
}
