/* How fast this machine copies memory.
 *
 * Floor 1. Starts threads, and joins them before it returns. */
#ifndef DLB_CORE_HOST_MEMBW_H
#define DLB_CORE_HOST_MEMBW_H

#include <stdint.h>

/* Bytes per second that `n_threads` memcpys move together, each between buffers of its own that
 * are larger than the caches; takes about 0.1 s. Of more than 256 threads these are measured. NaN
 * for 0 threads, and when memory or threads are short for one of them: the buffers, 64 MiB a
 * thread, take at most a quarter of the memory that is available. */
double dlb_memory_bytes_per_s(uint32_t n_threads);

#endif
