/* What lies in a result's folder, and whose it is. Only what dlbench itself wrote is ever replaced
 * or removed.
 *
 * Floor 5. Any thread. */
#ifndef DLB_BENCH_EXPERIMENT_CONTENTS_H
#define DLB_BENCH_EXPERIMENT_CONTENTS_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct dlb_contents {
    bool summary;       /* a result: a summary.json that dlbench wrote */
    bool interrupted;   /* and it is of a run that was interrupted */
    char run_name[256]; /* of the summary; "": there is none, or it is longer */
    bool journal;       /* of a run that did not end */
    bool unfinished;    /* and it has a repetition */
    bool leftover;      /* what a run that was killed left: its scratch, an environment.json */
    bool unfit;         /* a file of a result's name that dlbench did not write */
    bool foreign;       /* anything else */
    char other[256];    /* name of something unfit or foreign; the unfit first */
    long pid;           /* of the scratch folder found last; 0: there is none */
};

/* Of an open folder; `path` is for messages. An error, with the path, when the folder or a file of
 * a result's name cannot be read, or when the file is too large for any report. */
int dlb_contents_of(int folder, const char *path, struct dlb_contents *out, struct dlb_err *err);

/* Calls `visit` for each entry of an open folder. False: it cannot be listed; errno. */
bool dlb_contents_each(int folder, void (*visit)(void *ctx, int folder, const char *name),
                       void *ctx);

/* Whether the path still leads to the open folder. */
bool dlb_contents_is_at(int folder, const char *path);

enum dlb_claim { DLB_CLAIM_NONE, DLB_CLAIM_TAKEN, DLB_CLAIM_UNLOCKED, DLB_CLAIM_LOCKED };

/* Opens a result's folder, to which no other process then writes. `flags` are for open(2). TAKEN:
 * another process has the lock, also for a moment. UNLOCKED: the file system cannot lock. NONE: it
 * cannot be opened (errno), or is another folder by now (ENOENT); only then *fd is -1. */
enum dlb_claim dlb_contents_claim(const char *path, int flags, int *fd);

/* Removes a result's files that dlbench wrote from an open folder. */
void dlb_contents_remove_result(int folder);

/* Removes what killed runs of this machine left in an open and locked folder: their scratch
 * folders, and files that they were writing. True: one of them had made the folder itself. */
bool dlb_contents_remove_leftovers(int folder);

/* The same for all folders of results that no process has locked; a folder that a killed run had
 * made is removed if it is empty then. A folder with anything foreign is left as it is. Links and
 * mount points are not entered. */
void dlb_contents_remove_all_leftovers(const char *results);

#endif
