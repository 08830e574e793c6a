/* Whether the files that gen made are still there, as long as they were.
 *
 * Floor 2. Control thread. Uses the list of files (listed.h). */
#ifndef DLB_FORMATS_GENERATE_MADE_H
#define DLB_FORMATS_GENERATE_MADE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_made {
    bool noted;     /* the lengths were written */
    bool others;    /* with those of files that gen does not write: an older version listed them */
    uint64_t n_bad; /* files that are missing, or have another length */
    char first[96]; /* the first of them */
};

/* Compares the files' lengths with those that were written. A file behind a link counts as missing.
 * With `remove`, damaged files are removed, so that gen writes them again. Only names count that
 * are gen's (names.h). */
int dlb_made_check(const struct dlb_gen *gen, bool remove, struct dlb_made *out,
                   struct dlb_err *err);

#endif
