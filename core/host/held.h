/* Which files this process has open or mapped.
 *
 * Floor 1. Any thread. Read from /proc/self. */
#ifndef DLB_CORE_HOST_HELD_H
#define DLB_CORE_HOST_HELD_H

#include <stdbool.h>

/* Whether this process has a regular file at `root` or below it (a path without links) open or
 * mapped. Also true when that cannot be found out. */
bool dlb_held_below(const char *root);

#endif
