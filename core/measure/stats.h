/* Statistics over repetitions.
 *
 * Floor 1. Any thread. Inputs are borrowed and not changed. Deterministic: the bootstrap draws
 * from a given seed.
 *
 * A value that is not finite (NaN: that repetition failed) is left out; in paired statistics its
 * pair is, too. `n` counts the values used. Blocks are repetitions of the same index, run close
 * in time, so that pairing removes the machine's drift. */
#ifndef DLB_CORE_MEASURE_STATS_H
#define DLB_CORE_MEASURE_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_BOOTSTRAP_MIN_N 6 /* with fewer values the interval is min to max, and is named so */
#define DLB_BOOTSTRAP_DRAWS 10000
#define DLB_MEAN_MIN_N 3

enum dlb_interval_kind { DLB_INTERVAL_NONE, DLB_INTERVAL_MIN_MAX, DLB_INTERVAL_BOOTSTRAP_95 };

struct dlb_estimate {
    double median, low, high;
    enum dlb_interval_kind interval; /* NONE: n == 0 (all NaN), or n == 1 (low = high = median) */
    uint32_t n;                      /* values, or pairs, that were used */
};

/* Median of n values; NaN for none. */
double dlb_median(const double *values, uint32_t n);

/* Linear interpolation between order statistics (R's type 7). */
double dlb_quantile(const double *values, uint32_t n, double q);

/* Median with a percentile-bootstrap 95% interval from DLB_BOOTSTRAP_MIN_N values on, else min and
 * max. */
struct dlb_estimate dlb_estimate_median(const double *values, uint32_t n, uint64_t seed);

/* Median over blocks of 1 - a[i]/b[i]: how much smaller a is than b, paired by block, with the same
 * kind of interval. */
struct dlb_estimate dlb_estimate_paired_loss(const double *a, const double *b, uint32_t n,
                                             uint64_t seed);

/* Median of ratios a[i]/b[i], paired by block, with the same kind of interval. */
struct dlb_estimate dlb_estimate_paired_ratio(const double *a, const double *b, uint32_t n,
                                              uint64_t seed);

/* The 95% t-interval of the mean. False, and NaN, for fewer than DLB_MEAN_MIN_N values. */
bool dlb_mean_interval(const double *values, uint32_t n, double *low, double *high);

/* "none", "min-max", "bootstrap-95". Static. */
const char *dlb_interval_name(enum dlb_interval_kind kind);

/* {"median", "low", "high", "interval"}; nulls and "none" for n == 0. New reference. */
json_t *dlb_estimate_to_json(const struct dlb_estimate *estimate);

#endif
