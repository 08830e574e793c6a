/* The list of the files that gen or convert wrote into a folder, with their lengths.
 *
 * Floor 2. Control thread. It lies beside the data. A line is "LENGTH NAME". By this list alone a
 * later program knows which files are dlbench's. */
#ifndef DLB_FORMATS_GENERATE_LISTED_H
#define DLB_FORMATS_GENERATE_LISTED_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_FILES_NAME ".dlbench-files"
#define DLB_FILES_HEAD "dlbench files 1\n"

struct dlb_listed_file {
    const char *name; /* below the folder; borrowed from the list */
    uint64_t n_bytes;
};

/* Zeroed is empty. */
struct dlb_listed {
    bool there;                   /* the folder has a list */
    struct dlb_listed_file *file; /* owned; sorted by name */
    size_t n;
    char *text; /* owned */
};

/* Without a list, and with another text under its name, *out is empty. A line counts only if the
 * name is one that a format makes (names.h): the list is only a file. The caller frees it in any
 * case. */
int dlb_listed_load(const char *folder, struct dlb_listed *out, struct dlb_err *err);
void dlb_listed_free(struct dlb_listed *list);

/* NULL: it is not in the list. */
const struct dlb_listed_file *dlb_listed_find(const struct dlb_listed *list, const char *name);

/* Lists the files in `folder` that dlb_names_of_gen; without `gen` those that the format makes, for
 * a folder that convert alone wrote to. Whole or not at all, synced; the same files give the same
 * list. */
int dlb_listed_save(const char *folder, const struct dlb_format *format, const struct dlb_gen *gen,
                    struct dlb_err *err);

#endif
