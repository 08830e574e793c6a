/* Which files gen and convert make, and which files in a folder are not theirs.
 *
 * Floor 2. Control thread. Code that writes into, repairs or replaces a folder asks here first. */
#ifndef DLB_FORMATS_GENERATE_MADE_H
#define DLB_FORMATS_GENERATE_MADE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_FILES_NAME ".dlbench-files"

/* Looks through all of `folder` for a file that is not part of a data set: neither a mark of this
 * program nor, with a format, a file that the format makes or recognises. DLB_END when there is
 * one, its path below `folder` in `name` (cut when longer); DLB_OK when there is none. */
int dlb_made_foreign(const char *folder, const struct dlb_format *format, char *name, size_t n_name,
                     struct dlb_err *err);

/* Writes the length of each file that gen made to DLB_FILES_NAME beside the data. */
int dlb_made_note(const struct dlb_gen *gen, struct dlb_err *err);

struct dlb_made {
    bool noted;     /* the lengths were written */
    uint64_t n_bad; /* files that are missing, or have another length */
    char first[96]; /* the first of them */
};

/* Compares the files' lengths with those that were written. With `remove`, damaged files are
 * removed, so that gen writes them again. */
int dlb_made_check(const struct dlb_gen *gen, bool remove, struct dlb_made *out,
                   struct dlb_err *err);

#endif
