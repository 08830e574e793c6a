/* Statistics over repetitions.
 *
 * Floor 1. Any thread. Inputs are borrowed and not changed. Pure: nothing is drawn.
 *
 * A value that is not finite (NaN: that repetition failed) is left out; in paired statistics its
 * pair is, too. `n` counts the values used. Blocks are repetitions of the same index, run close
 * in time, so that pairing removes the machine's drift.
 *
 * The 95% interval of a median is that of the sign test, interpolated (Hettmansperger and Sheather,
 * Statistics & Probability Letters 4, 1986). From the kth smallest to the kth largest value covers
 * the median of any continuous distribution with g(k) = 1 - 2 P(Bin(n, 1/2) < k). k is the largest
 * rank with g(k) >= 95%. With I = (g(k) - 95%) / (g(k) - g(k + 1)), the interval ends
 *
 *     lambda = (n - k) I / (k + (n - 2k) I)
 *
 * of the way from the kth to the next value inwards, at both ends. With fewer than DLB_SIGN_MIN_N
 * values g(1) is below 95%, and the interval is from min to max. */
#ifndef DLB_CORE_MEASURE_STATS_H
#define DLB_CORE_MEASURE_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_SIGN_MIN_N 6 /* with fewer values the interval is min to max, and is named so */
#define DLB_MEAN_MIN_N 3

enum dlb_interval_kind { DLB_INTERVAL_NONE, DLB_INTERVAL_MIN_MAX, DLB_INTERVAL_SIGN_95 };

struct dlb_estimate {
    double median, low, high;
    enum dlb_interval_kind interval; /* NONE: n == 0 (all NaN), or n == 1 (low = high = median) */
    uint32_t n;                      /* values, or pairs, that were used */
};

/* Median of n values; NaN for none. */
double dlb_median(const double *values, uint32_t n);

/* Linear interpolation between order statistics (R's type 7). */
double dlb_quantile(const double *values, uint32_t n, double q);

/* Median with its 95% interval from DLB_SIGN_MIN_N values on, else min and max. */
struct dlb_estimate dlb_estimate_median(const double *values, uint32_t n);

/* Median over blocks of 1 - a[i]/b[i]: how much smaller a is than b, paired by block, with the same
 * kind of interval. */
struct dlb_estimate dlb_estimate_paired_loss(const double *a, const double *b, uint32_t n);

/* Median of ratios a[i]/b[i], paired by block, with the same kind of interval. */
struct dlb_estimate dlb_estimate_paired_ratio(const double *a, const double *b, uint32_t n);

/* The 95% t-interval of the mean. False, and NaN, for fewer than DLB_MEAN_MIN_N values. */
bool dlb_mean_interval(const double *values, uint32_t n, double *low, double *high);

/* "none", "min-max", "sign-95". Static. */
const char *dlb_interval_name(enum dlb_interval_kind kind);

/* {"median", "low", "high", "interval"}; nulls and "none" for n == 0. New reference. */
json_t *dlb_estimate_to_json(const struct dlb_estimate *estimate);

#endif
