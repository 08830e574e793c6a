/* What in a folder is dlbench's own. Only that is replaced or removed.
 *
 * Floor 2. Control thread. A folder belongs to dlbench if it is empty, or if it holds nothing but
 * the files of its list (listed.h), with their lengths, the list and the manifest. If the manifest
 * tells what gen wrote, the files' names are those of its units. No link below the folder is
 * followed. */
#ifndef DLB_FORMATS_GENERATE_OWNED_H
#define DLB_FORMATS_GENERATE_OWNED_H

#include "core/base/err.h"
#include "formats/generate/stays.h"

#include <stdbool.h>
#include <stddef.h>

/* DLB_END if `folder` holds anything else: its path below the folder in `name` (cut when longer),
 * and in *why what it is, for a message. */
int dlb_owned_check(const char *folder, char *name, size_t n_name, const char **why,
                    struct dlb_err *err);

/* Whether gen or convert gives this name to a file beside the data: list, manifest, mark, and what
 * they are while they are written. */
bool dlb_owned_beside(const char *name);

/* Whether gen may begin a data set in `folder`. DLB_END if it holds what gen neither wrote nor
 * leaves alone. */
int dlb_owned_check_fresh(const char *folder, char *name, size_t n_name, struct dlb_err *err);

/* DLB_END if there is a link anywhere below `folder`. */
int dlb_owned_check_links(const char *folder, char *name, size_t n_name, struct dlb_err *err);

/* Where a removal is (core/base/remove.h): entries of the data set's folder have depth 1. Zeroed at
 * the beginning. */
struct dlb_owned_walk {
    char path[512]; /* below the data set's folder */
    size_t len[9];  /* of the folder's part at each depth */
};

/* Whether an entry goes: a file with a name that gen or convert gives, or a folder of such files. A
 * link never does. Allocates nothing. */
bool dlb_owned_goes(struct dlb_owned_walk *walk, int folder, const char *name, int depth);

/* Removes the file `name` in the open folder `at`, or the folder with all that goes. Whether
 * nothing is left; else *stays has the reason. Allocates nothing. */
bool dlb_owned_remove(int at, const char *name, struct dlb_stays *stays);

#endif
