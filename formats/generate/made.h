/* Which files gen and convert make, and what in a folder is not theirs.
 *
 * Floor 2. Control thread. Whoever writes into, repairs or replaces a folder asks here first. */
#ifndef DLB_FORMATS_GENERATE_MADE_H
#define DLB_FORMATS_GENERATE_MADE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_FILES_NAME ".dlbench-files"

/* Looks through all of `folder` for something that is no part of a data set: neither a mark of this
 * program's, nor, with a format, a file that it makes or knows by itself. DLB_END when there is,
 * its path below `folder` in `name` (cut when longer); DLB_OK when there is nothing. */
int dlb_made_foreign(const char *folder, const struct dlb_format *format, char *name, size_t n_name,
                     struct dlb_err *err);

/* Notes beside the data how long each file is that gen made. */
int dlb_made_note(const struct dlb_gen *gen, struct dlb_err *err);

struct dlb_made {
    bool noted;     /* there are notes to compare with */
    uint64_t n_bad; /* files that are gone, or of another length */
    char first[96]; /* of these */
};

/* Compares what is there with the notes, by length alone. Damaged files are removed with `remove`,
 * so that gen writes them anew. */
int dlb_made_check(const struct dlb_gen *gen, bool remove, struct dlb_made *out,
                   struct dlb_err *err);

#endif
