/* Whether the kernel takes pages that are not used out of memory although memory is not short: by
 * DAMON (Documentation/admin-guide/mm/damon), as hosts of virtual machines set it up. Data that
 * were read beforehand are then partly gone when they are measured.
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_RECLAIM_H
#define DLB_CORE_HOST_RECLAIM_H

#include <stdbool.h>

/* `sys`: "/sys", or a folder that is laid out like it. False where nothing can be read. */
bool dlb_reclaim_is_on(const char *sys);

#endif
