/* Orders for qsort, from the smallest to the largest.
 *
 * Floor 5, private to bench/verbs. Any thread. */
#ifndef DLB_BENCH_VERBS_ASCENDING_H
#define DLB_BENCH_VERBS_ASCENDING_H

#include <stdint.h>

static inline int dlb_ascending_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline int dlb_ascending_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

#endif
