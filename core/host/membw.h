/* How fast this machine copies memory.
 *
 * Floor 1. Starts threads of its own, and joins them. */
#ifndef DLB_CORE_HOST_MEMBW_H
#define DLB_CORE_HOST_MEMBW_H

#include <stdint.h>

/* Bytes per second that `n_threads` memcpys move together, each from and to memory of its own that
 * no cache holds; takes about 0.1 s. NaN where memory or threads are short. */
double dlb_memory_bytes_per_s(uint32_t n_threads);

#endif
