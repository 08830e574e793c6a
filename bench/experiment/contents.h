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
    bool summary;    /* a result: a summary.json that dlbench wrote */
    bool leftover;   /* what a run that was killed left: its scratch, an environment.json */
    bool unfit;      /* a file of a result's name that dlbench did not write */
    bool foreign;    /* anything else */
    char other[256]; /* name of something unfit or foreign; the unfit first */
    long pid;        /* of the scratch folder found last; 0: there is none */
};

/* An error, with the path, when the folder or a file of a result's name cannot be read. */
int dlb_contents_of(const char *folder, struct dlb_contents *out, struct dlb_err *err);

/* Whether a result's file has this name, or one that is being written. */
bool dlb_is_result_file(const char *name);

/* Writes the name of this process's scratch folder. */
void dlb_scratch_name(char *name, size_t n_name);

/* The same for the process with this number; false: the text is none. */
bool dlb_scratch_name_of(const char *number, char *name, size_t n_name);

/* Removes the scratch folders that killed runs left in a result's folder. The caller has the
 * folder's lock, so no other process uses them. */
void dlb_remove_scratch(const char *folder);

/* Removes them from all folders of results that no process has locked, and the folders that are
 * empty then. A folder with anything foreign is left as it is. */
void dlb_remove_all_scratch(const char *results);

#endif
