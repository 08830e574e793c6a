/* Removing a folder with all that is in it, without allocating memory.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_REMOVE_H
#define DLB_CORE_BASE_REMOVE_H

/* Removes `name`, a path below the directory `at_fd` (AT_FDCWD: the working folder). Links are
 * removed, not followed; folders nested deeper than 8 levels stay. Errors are ignored. Allocates
 * nothing, so that it works when memory is exhausted. */
void dlb_remove_tree(int at_fd, const char *name);

#endif
