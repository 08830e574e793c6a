/* Log-linear histogram of durations.
 *
 * Floor 1. One writer; others merge and read after it has stopped. Fixed size and no pointers:
 * it lies in shared memory.
 *
 * Values below 2^SUB_BITS ns are exact. Above, each power of two is cut into 2^SUB_BITS buckets
 * and a bucket stands for its middle: a bucket [m 2^s, (m + 1) 2^s) with m >= 2^SUB_BITS has its
 * middle at most 2^(s-1) from any of its values, so that the relative error of a quantile is at
 * most 2^(s-1) / (2^SUB_BITS 2^s) = 1 / 2^(SUB_BITS + 1) = 1.6%. Sums, counts, min and max are
 * exact. A bucket holds 2^32 - 1 values; merging saturates there. */
#ifndef DLB_CORE_MEASURE_HIST_H
#define DLB_CORE_MEASURE_HIST_H

#include <stdint.h>

#define DLB_HIST_SUB_BITS 5
#define DLB_HIST_MAX_LOG2                                                                          \
    40 /* 2^40 ns = 18 minutes; longer values count in the last bucket, which then gives max_ns */
#define DLB_HIST_BUCKETS ((DLB_HIST_MAX_LOG2 - DLB_HIST_SUB_BITS + 1) << DLB_HIST_SUB_BITS)

struct dlb_hist {
    uint64_t count, sum_ns, min_ns, max_ns;
    uint32_t bucket[DLB_HIST_BUCKETS];
};

static inline uint32_t dlb_hist_bucket(uint64_t value_ns)
{
    if (value_ns < (UINT64_C(1) << DLB_HIST_SUB_BITS))
        return (uint32_t)value_ns;
    uint32_t log2 = 63u - (uint32_t)__builtin_clzll(value_ns);
    if (log2 >= DLB_HIST_MAX_LOG2)
        return DLB_HIST_BUCKETS - 1;
    uint32_t shift = log2 - DLB_HIST_SUB_BITS;
    return ((shift + 1) << DLB_HIST_SUB_BITS) +
           (uint32_t)((value_ns >> shift) - (UINT64_C(1) << DLB_HIST_SUB_BITS));
}

static inline void dlb_hist_add(struct dlb_hist *hist, uint64_t value_ns)
{
    if (hist->count == 0 || value_ns < hist->min_ns)
        hist->min_ns = value_ns;
    if (value_ns > hist->max_ns)
        hist->max_ns = value_ns;
    hist->count++;
    hist->sum_ns += value_ns;
    hist->bucket[dlb_hist_bucket(value_ns)]++;
}

/* Adds n values, 1 at least, whose sum is total_ns: each is the mean, and one has what is left. */
static inline void dlb_hist_share(struct dlb_hist *hist, uint64_t total_ns, uint32_t n)
{
    /* Of 32 bits where it can be: on some CPUs 64 take a multiple. */
    uint64_t each_ns = total_ns <= UINT32_MAX ? (uint32_t)total_ns / n : total_ns / n;
    dlb_hist_add(hist, total_ns - each_ns * (n - 1));
    if (n == 1)
        return;
    hist->min_ns = each_ns < hist->min_ns ? each_ns : hist->min_ns;
    hist->count += n - 1;
    hist->sum_ns += each_ns * (n - 1);
    hist->bucket[dlb_hist_bucket(each_ns)] += n - 1;
}

void dlb_hist_merge(struct dlb_hist *into, const struct dlb_hist *from);

/* The smallest value v such that at least q of all values are <= v, with the error above, within
 * [min, max]; 0 when empty. q in [0, 1]. */
uint64_t dlb_hist_quantile_ns(const struct dlb_hist *hist, double q);

#endif
