#include "core/measure/hist.h"

#include <float.h>
#include <math.h>

/* The value that stands for a bucket: exact below 2^SUB_BITS, else its middle. */
static uint64_t bucket_value(uint32_t bucket)
{
    if (bucket < (1u << DLB_HIST_SUB_BITS))
        return bucket;
    uint32_t shift = (bucket >> DLB_HIST_SUB_BITS) - 1;
    uint64_t top = (UINT64_C(1) << DLB_HIST_SUB_BITS) + (bucket & ((1u << DLB_HIST_SUB_BITS) - 1));
    return (top << shift) + ((UINT64_C(1) << shift) >> 1);
}

void dlb_hist_merge(struct dlb_hist *into, const struct dlb_hist *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    for (uint32_t i = 0; i < DLB_HIST_BUCKETS; i++) {
        uint32_t sum = into->bucket[i] + from->bucket[i];
        into->bucket[i] = sum < from->bucket[i] ? UINT32_MAX : sum;
    }
}

uint64_t dlb_hist_quantile_ns(const struct dlb_hist *hist, double q)
{
    if (hist->count == 0)
        return 0;

    /* q * count may be rounded to slightly above a whole number (0.07 * 100). Without the slack
     * the rank would be one too high. */
    double rank = ceil(q * (double)hist->count * (1.0 - 4.0 * DBL_EPSILON));
    if (!(rank > 1.0))
        return hist->min_ns;
    if (rank >= (double)hist->count)
        return hist->max_ns;

    uint64_t want = (uint64_t)rank, seen = 0;
    for (uint32_t i = 0; i < DLB_HIST_BUCKETS; i++) {
        seen += hist->bucket[i];
        if (seen < want)
            continue;
        /* The last bucket also holds values beyond the range, so it has no upper end. */
        if (i == DLB_HIST_BUCKETS - 1 && hist->max_ns >> DLB_HIST_MAX_LOG2)
            return hist->max_ns;
        uint64_t value = bucket_value(i);
        if (value < hist->min_ns)
            return hist->min_ns;
        return value > hist->max_ns ? hist->max_ns : value;
    }
    return hist->max_ns;
}
