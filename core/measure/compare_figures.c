/* Changes of figures that come with intervals of their own. */
#include "core/measure/compare.h"
#include "core/measure/tail.h"

#include <math.h>

#define NORMAL 1e6 /* degrees of freedom of a normal distribution, as good as */

static const struct dlb_change unknown = {(double)NAN, (double)NAN, (double)NAN, (double)NAN,
                                          DLB_COMPARE_UNCLEAR};

/* From an interval of 95% to one of n that hold together. */
static double widening(uint32_t n)
{
    return dlb_t_beyond(DLB_COMPARE_MISSES / n, NORMAL) / dlb_t_95(NORMAL);
}

/* Half of an interval: of A's and B's halves on that side, and what results are allowed. */
static double half(double of_a, double of_b, double allowed, double wider)
{
    return wider * sqrt(of_a * of_a + of_b * of_b + allowed * allowed);
}

/* 80% of power take another 0.84 standard errors, of which the half has 1.96. */
static double with_power(double half_95)
{
    return half_95 * dlb_t_beyond(2 * (1 - DLB_COMPARE_POWER), NORMAL) / dlb_t_95(NORMAL);
}

void dlb_compare_figures(const struct dlb_compare_figure *a, const struct dlb_compare_figure *b,
                         const struct dlb_compare *how, uint32_t n_intervals,
                         struct dlb_change *out)
{
    *out = unknown;
    if (!(a->value > 0) || !(b->value > 0))
        return;
    double difference = log(b->value / a->value), wider = widening(n_intervals);
    double allowed = dlb_t_95(NORMAL) * how->between_frac * sqrt(2);
    out->change_frac = expm1(difference);
    if (!(a->low > 0) || !(b->low > 0) || !isfinite(a->high) || !isfinite(b->high))
        return;
    double below = half(log(a->high / a->value), log(b->value / b->low), allowed, wider);
    double above = half(log(a->value / a->low), log(b->high / b->value), allowed, wider);
    out->low = expm1(difference - below);
    out->high = expm1(difference + above);
    double larger = fmax(below, above);
    out->detectable_frac = expm1(log1p(how->smallest_frac) + larger + with_power(larger / wider));
    out->verdict = dlb_compare_judge(out->low, out->high, how->smallest_frac);
}

void dlb_compare_parts(const struct dlb_compare_figure *a, const struct dlb_compare_figure *b,
                       double whole, const struct dlb_compare *how, uint32_t n_intervals,
                       struct dlb_change *out)
{
    *out = unknown;
    if (!isfinite(a->value) || !isfinite(b->value) || !(whole > 0))
        return;
    double wider = widening(n_intervals), saved = (a->value - b->value) / whole;
    double part = fmax(fabs(a->value), fabs(b->value)) / whole;
    double allowed = dlb_t_95(NORMAL) * how->between_frac * sqrt(2) * part;
    out->change_frac = saved;
    if (!isfinite(a->low) || !isfinite(a->high) || !isfinite(b->low) || !isfinite(b->high))
        return;
    double below = half((a->value - a->low) / whole, (b->high - b->value) / whole, allowed, wider);
    double above = half((a->high - a->value) / whole, (b->value - b->low) / whole, allowed, wider);
    out->low = saved - below;
    out->high = saved + above;
    double larger = fmax(below, above);
    out->detectable_frac = how->smallest_frac + larger + with_power(larger / wider);
    out->verdict = dlb_compare_judge(out->low, out->high, how->smallest_frac);
}
