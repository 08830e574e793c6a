/* Checks that a large allocation fits into memory before it is made: the kernel grants more than it
 * has, and kills the process later.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_HEADROOM_H
#define DLB_FORMATS_HEADROOM_H

#include "core/base/err.h"

#include <stdint.h>

/* What the machine (MemAvailable) or the container's limit (cgroup version 2, or 1) leaves, the
 * smaller of both; UINT64_MAX where neither is known. Sees only the cgroup that the container
 * shows; the loader's own check before a start sees those below it too. */
uint64_t dlb_headroom_bytes(void);

/* DLB_E_NOMEM with both figures and `advice` unless n_bytes are available. Up to 64 MiB are always
 * granted. */
int dlb_headroom_check(uint64_t n_bytes, const char *path, const char *what, const char *advice,
                       struct dlb_err *err);

#endif
