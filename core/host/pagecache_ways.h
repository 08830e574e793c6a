/* The two ways of asking for residency, so that tests can compare them.
 *
 * Floor 1, private to core/host and its tests. Any thread. False when the kernel does not
 * answer: it is too old, or the caller may not write the file. */
#ifndef DLB_CORE_HOST_PAGECACHE_WAYS_H
#define DLB_CORE_HOST_PAGECACHE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

bool dlb_residency_cachestat(int fd, uint64_t n_bytes, uint64_t *resident_bytes);
bool dlb_residency_mincore(int fd, uint64_t n_bytes, uint64_t *resident_bytes);

#endif
