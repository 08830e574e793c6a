/* The two ways of asking, apart: tests compare them.
 *
 * Floor 1, private to core/host and its tests. Any thread. False when the way is closed: an old
 * kernel, or a file that one may not write, for which the kernel does not tell. */
#ifndef DLB_CORE_HOST_PAGECACHE_WAYS_H
#define DLB_CORE_HOST_PAGECACHE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

bool dlb_residency_cachestat(int fd, uint64_t n_bytes, uint64_t *resident_bytes);
bool dlb_residency_mincore(int fd, uint64_t n_bytes, uint64_t *resident_bytes);

#endif
