/* Removing a folder with all that is in it, without allocating memory.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_REMOVE_H
#define DLB_CORE_BASE_REMOVE_H

#include <stdbool.h>

/* Removes `name`, a path below the directory `at_fd` (AT_FDCWD: the working folder). Links are
 * removed, not followed; folders nested deeper than 8 levels stay. Errors are ignored. Allocates
 * nothing, so that it works when memory is exhausted. */
void dlb_remove_tree(int at_fd, const char *name);

/* Whether an entry of the open folder is to go; the tree's own entries have depth 1. */
typedef bool dlb_remove_goes(void *ctx, int folder, const char *name, int depth);

/* The same for the entries of an open folder, and only for those that go. A folder that keeps an
 * entry stays. */
void dlb_remove_entries(int folder, dlb_remove_goes *goes, void *ctx);

#endif
