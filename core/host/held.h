/* Which files this process holds on to.
 *
 * Floor 1. Any thread. By /proc/self: what the kernel says is open or mapped. */
#ifndef DLB_CORE_HOST_HELD_H
#define DLB_CORE_HOST_HELD_H

#include <stdbool.h>

/* Whether a regular file at `root` or below it (a path without links) is open or mapped here. True
 * also where that cannot be found out. */
bool dlb_held_below(const char *root);

#endif
