/* Whether a path is a link, and whether two lead to one file.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_SAME_H
#define DLB_CORE_BASE_SAME_H

#include <stdbool.h>

/* Links are followed, and folders count. False if either path leads nowhere. */
bool dlb_same_file(const char *a, const char *b);

/* A symbolic one. False if there is nothing. */
bool dlb_is_link(const char *path);

#endif
