/* Whether there is memory for something large, asked before it is taken: the kernel grants more
 * than it has, and kills later.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_ROOM_H
#define DLB_FORMATS_ROOM_H

#include "core/base/err.h"

#include <stdint.h>

/* The least of what the machine (MemAvailable) and the container's limit (cgroup version 2, or 1)
 * leave; UINT64_MAX where neither says. A cgroup below the one that the container shows is not seen
 * here; the loader's own check before a start sees it. */
uint64_t dlb_room_bytes(void);

/* DLB_E_NOMEM with both figures and `advice` unless n_bytes are available. Up to 64 MiB are not
 * looked for. */
int dlb_room_check(uint64_t n_bytes, const char *path, const char *what, const char *advice,
                   struct dlb_err *err);

#endif
