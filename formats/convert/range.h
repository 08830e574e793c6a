/* The samples that one of several processes takes.
 *
 * Floor 2. Pure. */
#ifndef DLB_FORMATS_CONVERT_RANGE_H
#define DLB_FORMATS_CONVERT_RANGE_H

#include <stdint.h>

struct dlb_convert_range {
    uint64_t first, end;
};

/* The share of process `rank` of `size`, of n samples. Shares follow each other, and all but the
 * last are multiples of `unit`. */
static inline struct dlb_convert_range dlb_convert_range(uint64_t n, uint64_t unit, uint32_t rank,
                                                         uint32_t size)
{
    uint64_t n_units = n / unit + (n % unit > 0);
    uint64_t first = n_units * rank / size * unit, end = n_units * (rank + 1) / size * unit;

    return (struct dlb_convert_range){first < n ? first : n, end < n ? end : n};
}

#endif
