#include "core/measure/stats.h"

#include "core/base/json.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Repetitions are few, so the usual call needs no heap. */
#define N_INLINE 64

struct sample {
    double *value; /* sorted, all finite; `fixed` or malloced */
    uint32_t n;
    double fixed[N_INLINE];
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool sample_alloc(struct sample *s, uint32_t n)
{
    s->n = 0;
    s->value = n <= N_INLINE ? s->fixed : malloc(n * sizeof *s->value);
    return s->value != NULL;
}

static void sample_free(struct sample *s)
{
    if (s->value != s->fixed)
        free(s->value);
}

static void sample_add(struct sample *s, double value)
{
    if (isfinite(value))
        s->value[s->n++] = value;
}

static void sample_sort(struct sample *s)
{
    qsort(s->value, s->n, sizeof *s->value, compare);
}

/* At a place between order statistics, from 0 to n - 1. */
static double sorted_at(const double *sorted, uint32_t n, double place)
{
    uint32_t below = (uint32_t)place;
    if (below >= n - 1)
        return sorted[n - 1];
    double part = place - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/* R's type 7. */
static double sorted_quantile(const double *sorted, uint32_t n, double q)
{
    return sorted_at(sorted, n, (double)(n - 1) * fmin(fmax(q, 0.0), 1.0));
}

double dlb_quantile(const double *values, uint32_t n, double q)
{
    struct sample s;
    double out = NAN;

    if (isnan(q) || !sample_alloc(&s, n))
        return out;
    for (uint32_t i = 0; i < n; i++)
        sample_add(&s, values[i]);
    sample_sort(&s);
    if (s.n > 0)
        out = sorted_quantile(s.value, s.n, q);
    sample_free(&s);
    return out;
}

double dlb_median(const double *values, uint32_t n)
{
    return dlb_quantile(values, n, 0.5);
}

/* Where the interval ends, counted from either end of the n >= DLB_SIGN_MIN_N sorted values: the
 * header's k and lambda as the place k - 1 + lambda between order statistics. */
static double sign_place(uint32_t n)
{
    double tail = (1 - 0.95) / 2, ln_p = -(double)n * log(2.0); /* ln P(Bin(n, 1/2) = k) */
    double less = 0, up_to = exp(ln_p);                         /* P(Bin < k), P(Bin <= k) */
    uint32_t k = 0;
    while (up_to <= tail) {
        k++;
        ln_p += log((double)(n - k + 1) / (double)k);
        less = up_to;
        up_to += exp(ln_p);
    }
    double share = (tail - less) / (up_to - less);
    return (double)(k - 1) + (double)(n - k) * share / ((double)k + (double)(n - 2 * k) * share);
}

static struct dlb_estimate estimate(struct sample *s)
{
    struct dlb_estimate out = {.median = NAN, .low = NAN, .high = NAN, .n = s->n};

    if (s->n == 0)
        return out;
    sample_sort(s);
    out.median = sorted_quantile(s->value, s->n, 0.5);
    out.low = s->value[0];
    out.high = s->value[s->n - 1];
    if (s->n == 1)
        return out;
    out.interval = DLB_INTERVAL_MIN_MAX;
    if (s->n >= DLB_SIGN_MIN_N) {
        double place = sign_place(s->n);
        out.low = sorted_at(s->value, s->n, place);
        out.high = sorted_at(s->value, s->n, (double)(s->n - 1) - place);
        out.interval = DLB_INTERVAL_SIGN_95;
    }
    return out;
}

static double value_itself(double a, double b)
{
    (void)b;
    return a;
}

static double loss(double a, double b)
{
    return 1.0 - a / b;
}

static double ratio(double a, double b)
{
    return a / b;
}

static struct dlb_estimate estimate_of(const double *a, const double *b, uint32_t n,
                                       double (*combine)(double a, double b))
{
    struct sample s;

    if (!sample_alloc(&s, n))
        return (struct dlb_estimate){.median = NAN, .low = NAN, .high = NAN};
    for (uint32_t i = 0; i < n; i++)
        sample_add(&s, combine(a[i], b[i]));
    struct dlb_estimate out = estimate(&s);
    sample_free(&s);
    return out;
}

struct dlb_estimate dlb_estimate_median(const double *values, uint32_t n)
{
    return estimate_of(values, values, n, value_itself);
}

struct dlb_estimate dlb_estimate_paired_loss(const double *a, const double *b, uint32_t n)
{
    return estimate_of(a, b, n, loss);
}

struct dlb_estimate dlb_estimate_paired_ratio(const double *a, const double *b, uint32_t n)
{
    return estimate_of(a, b, n, ratio);
}

bool dlb_mean_interval(const double *values, uint32_t n, double *low, double *high)
{
    double sum = 0, squares = 0;
    uint32_t n_used = 0;
    *low = *high = (double)NAN;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            n_used++;
        }
    if (n_used < DLB_MEAN_MIN_N)
        return false;
    double mean = sum / n_used;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            squares += (values[i] - mean) * (values[i] - mean);
    double half = dlb_t_95(n_used - 1) * sqrt(squares / (n_used - 1) / n_used);
    *low = mean - half;
    *high = mean + half;
    return true;
}

const char *dlb_interval_name(enum dlb_interval_kind kind)
{
    switch (kind) {
    case DLB_INTERVAL_NONE:
        return "none";
    case DLB_INTERVAL_MIN_MAX:
        return "min-max";
    case DLB_INTERVAL_SIGN_95:
        return "sign-95";
    }
    return "none";
}

json_t *dlb_estimate_to_json(const struct dlb_estimate *e)
{
    const double nan = (double)NAN;
    return dlb_json_made(json_pack("{so, so, so, ss}", "median",
                                   dlb_json_real_or_null(e->n ? e->median : nan), "low",
                                   dlb_json_real_or_null(e->n ? e->low : nan), "high",
                                   dlb_json_real_or_null(e->n ? e->high : nan), "interval",
                                   dlb_interval_name(e->n ? e->interval : DLB_INTERVAL_NONE)));
}
