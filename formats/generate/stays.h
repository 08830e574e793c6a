/* Why something that was to be removed is still there.
 *
 * Floor 2. Any thread. Allocates nothing. */
#ifndef DLB_FORMATS_GENERATE_STAYS_H
#define DLB_FORMATS_GENERATE_STAYS_H

#include "core/base/err.h"

#include <stdbool.h>

/* The first reason. Zeroed: none. */
struct dlb_stays {
    bool any;
    int code;       /* errno of removing it; 0: dlbench did not write it */
    char path[512]; /* what stays, below the folder that was to be removed; "": the folder itself */
};

void dlb_stays_note(struct dlb_stays *stays, const char *path, int code);

/* Notes an entry that is not dlbench's, unless it has vanished. */
void dlb_stays_foreign(struct dlb_stays *stays, int folder, const char *name, const char *path);

/* Removes an entry, `path` for the note. True: it is a folder, whose entries are to be removed
 * before it, and which can be opened. */
bool dlb_stays_enter(struct dlb_stays *stays, int folder, const char *name, const char *path);

/* As an error of what stays in `folder`, with what to do: DLB_ERR_TARGET_FOREIGN for what is not
 * dlbench's. */
void dlb_stays_say(const struct dlb_stays *stays, const char *folder, struct dlb_err *err);

#endif
