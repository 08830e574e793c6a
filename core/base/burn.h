/* Planted CPU time: computing for nothing, for as long as was asked.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_BURN_H
#define DLB_CORE_BASE_BURN_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_THREAD_CPUTIME_ID of this thread. */
uint64_t dlb_thread_cpu_ns(void);

/* Computes until the thread has had burn_ns of CPU time from start_cpu_ns of its CPU clock on, or
 * `stop` says so (with `of`; called all the time). Returns the time after it. */
uint64_t dlb_burn(uint64_t start_cpu_ns, uint64_t burn_ns, bool (*stop)(const void *of),
                  const void *of);

#endif
