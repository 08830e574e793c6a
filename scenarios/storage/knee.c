#include "scenarios/storage/knee.h"

#include "core/measure/stats.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MAX_NUMBERS 128
#define LEAST_NOISE 0.001 /* a repetition is not known better than this */
#define WIDER 1.2         /* of the squares: plain t-tests held 90% at 10% noise, simulated */
#define LEAST_FAR 0.05    /* from a median, where repetitions agree */
#define LEAST_AU 1e-3
#define N_FIGURES 2
#define N_SCAN 24
#define N_HALVINGS 16

static const double sharpnesses[] = {1, 1.5, 2, 3, 4, 6, 9, 16, INFINITY};
enum { N_SHARPNESSES = sizeof(sharpnesses) / sizeof(sharpnesses[0]) };

/* The numbers' means of ln utilisation. */
struct data {
    double ln_n[MAX_NUMBERS], mean[MAX_NUMBERS], weight[MAX_NUMBERS];
    uint32_t n_numbers;
    double n_values, pure_ss; /* squares of repetitions around their means */
    uint32_t n_left_out;
    double low, high; /* where a crossing is looked for, ln */
};

/* One curve of the family. */
struct curve {
    double sharpness, ln_gate, shift;
};

static struct curve curve_of(double sharpness, double gate)
{
    return (struct curve){sharpness, log(gate), log(expm1(-sharpness * log(gate)))};
}

/* ln utilisation at ln n, for a crossing at `at`. */
static double ln_au(const struct curve *c, double ln_n, double at)
{
    if (isinf(c->sharpness))
        return fmin(0, c->ln_gate + at - ln_n);
    double z = c->sharpness * (ln_n - at) + c->shift;
    return -(z > 30 ? z : log1p(exp(z))) / c->sharpness;
}

/* Squares of the means around the curve. */
static double lack_ss(const struct data *d, const struct curve *c, double at)
{
    double sum = 0;
    for (uint32_t i = 0; i < d->n_numbers; i++) {
        double off = d->mean[i] - ln_au(c, d->ln_n[i], at);
        sum += d->weight[i] * off * off;
    }
    return sum;
}

static double ln_value(const struct dlb_knee_point *p, uint32_t i)
{
    return log(fmax(p->au[i], LEAST_AU));
}

static double ln_median(const struct dlb_knee_point *p)
{
    return log(fmax(dlb_median(p->au, p->n_values), LEAST_AU));
}

/* How far a repetition may be from its number's median: eight times the usual distance of those
 * that are not the median themselves. */
static double far_off(const struct dlb_knee_point *points, uint32_t n_points)
{
    double distances[2 * MAX_NUMBERS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_points; i++) {
        bool middle_seen = false;
        for (uint32_t k = 0; points[i].n_values >= 3 && k < points[i].n_values; k++) {
            double distance = fabs(ln_value(&points[i], k) - ln_median(&points[i]));
            bool middle = distance == 0 && !middle_seen;
            middle_seen |= middle;
            if (!middle && n < 2 * MAX_NUMBERS)
                distances[n++] = distance;
        }
    }
    return n > 0 ? fmax(8 * dlb_median(distances, n), LEAST_FAR) : INFINITY;
}

static uint32_t n_within(const struct dlb_knee_point *p, double middle, double far)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_values; i++)
        n += fabs(ln_value(p, i) - middle) <= far;
    return n;
}

/* A single moment that was slow is left out where most of the repetitions show that it was one. Of
 * an even number none need be near the median, which lies between two of them. */
static void read_point(struct data *d, const struct dlb_knee_point *p, double far)
{
    double sum = 0, squares = 0, middle = ln_median(p);
    bool all = p->n_values < 3 || 2 * n_within(p, middle, far) <= p->n_values;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_values; i++) {
        double value = ln_value(p, i);
        if (!all && fabs(value - middle) > far)
            continue;
        sum += value;
        squares += value * value;
        n++;
    }
    d->ln_n[d->n_numbers] = log(p->n);
    d->mean[d->n_numbers] = sum / n;
    d->weight[d->n_numbers++] = n;
    d->n_values += n;
    d->n_left_out += p->n_values - n;
    d->pure_ss += fmax(squares - sum * sum / n, 0);
}

static void read_points(struct data *d, const struct dlb_knee_point *points, uint32_t n_points)
{
    double far = far_off(points, n_points);
    *d = (struct data){.low = INFINITY, .high = -INFINITY};
    for (uint32_t i = 0; i < n_points && d->n_numbers < MAX_NUMBERS; i++) {
        if (points[i].n_values == 0)
            continue;
        read_point(d, &points[i], far);
        d->low = fmin(d->low, log(points[i].n) - 1);
        d->high = fmax(d->high, log(points[i].n) + 1);
    }
}

/* The crossing with the least squares: a scan, then golden sections around its best. */
static double best_at(const struct data *d, const struct curve *c)
{
    const double golden = 0.6180339887498949;
    double width = (d->high - d->low) / N_SCAN, best = d->low, least = INFINITY;
    for (int i = 0; i <= N_SCAN; i++) {
        double at = d->low + width * i, ss = lack_ss(d, c, at);
        if (ss < least) {
            least = ss;
            best = at;
        }
    }
    double low = best - width, high = best + width;
    while (high - low > 1e-5) {
        double a = high - golden * (high - low), b = low + golden * (high - low);
        if (lack_ss(d, c, a) < lack_ss(d, c, b))
            high = b;
        else
            low = a;
    }
    return (low + high) / 2;
}

/* Where the squares rise to `most` between `inside` and `outside`. */
static double edge(const struct data *d, const struct curve *c, double most, double inside,
                   double outside)
{
    for (int i = 0; i < N_HALVINGS; i++) {
        double middle = (inside + outside) / 2;
        if (lack_ss(d, c, middle) <= most)
            inside = middle;
        else
            outside = middle;
    }
    return outside;
}

/* How much ln utilisation falls with ln n: 0 below the knee, 1 far above it. */
static double steepness(const struct curve *c, double ln_n, double at)
{
    const double step = 1e-4;
    return (ln_au(c, ln_n - step, at) - ln_au(c, ln_n + step, at)) / (2 * step);
}

/* Values that show the noise of the storage. Below the knee it hides behind the accelerators' own
 * pace. */
static double n_noisy(const struct data *d, const struct curve *c, double at)
{
    double least = steepness(c, at, at) / 2, n = 0;
    for (uint32_t i = 0; i < d->n_numbers; i++)
        if (steepness(c, d->ln_n[i], at) >= least)
            n += d->weight[i];
    return n;
}

/* How far, in ln n, the crossing of the mean lies below that of the storage itself. Below a round
 * knee a fast moment of the storage raises utilisation less than a slow one lowers it. */
static double bend(const struct curve *c, double at, double variance)
{
    double steep = steepness(c, at, at);
    return isinf(c->sharpness) ? 0 : c->sharpness * (1 - steep) * variance / (2 * steep * steep);
}

static double lack_of_fit_p(const struct data *d, double lack)
{
    double n_pure = d->n_values - d->n_numbers, n_lack = (double)d->n_numbers - N_FIGURES;
    if (n_pure < 1 || n_lack < 1)
        return (double)NAN;
    double pure = fmax(d->pure_ss / n_pure, LEAST_NOISE * LEAST_NOISE);
    return dlb_f_tail(lack / n_lack / pure, n_lack, n_pure);
}

void dlb_knee_fit(const struct dlb_knee_point *points, uint32_t n_points, double gate,
                  struct dlb_knee *out)
{
    const double nan = (double)NAN;
    struct data d;
    struct curve curves[N_SHARPNESSES];
    double at[N_SHARPNESSES], lack[N_SHARPNESSES];
    int best = 0;
    *out = (struct dlb_knee){.at = nan,
                             .low = nan,
                             .high = nan,
                             .sharpness = nan,
                             .noise_frac = nan,
                             .lack_of_fit_p = nan};
    read_points(&d, points, n_points);
    if (d.n_numbers < N_FIGURES + 1 || !(gate > 0 && gate < 1))
        return;
    for (int i = 0; i < N_SHARPNESSES; i++) {
        curves[i] = curve_of(sharpnesses[i], gate);
        at[i] = best_at(&d, &curves[i]);
        lack[i] = lack_ss(&d, &curves[i], at[i]);
        if (lack[i] < lack[best])
            best = i;
    }
    double n_free = n_noisy(&d, &curves[best], at[best]) - N_FIGURES;
    if (n_free < 2)
        return;
    double variance = fmax((d.pure_ss + lack[best]) / n_free, LEAST_NOISE * LEAST_NOISE),
           t = dlb_t_95(n_free);
    double most = lack[best] + WIDER * t * t * variance;
    double low = at[best], high = at[best];
    for (int i = 0; i < N_SHARPNESSES; i++) {
        if (lack[i] > most)
            continue;
        low = fmin(low, edge(&d, &curves[i], most, at[i], d.low));
        high = fmax(high, edge(&d, &curves[i], most, at[i], d.high));
    }
    high += bend(&curves[best], at[best], variance);
    *out = (struct dlb_knee){.fitted = true,
                             .at = exp(at[best]),
                             .low = exp(low),
                             .high = exp(high),
                             .sharpness = sharpnesses[best],
                             .noise_frac = sqrt(variance),
                             .lack_of_fit_p = lack_of_fit_p(&d, lack[best]),
                             .n_values = (uint32_t)d.n_values,
                             .n_left_out = d.n_left_out};
}

double dlb_knee_off(const struct dlb_knee *knee, double gate, uint32_t n, double au)
{
    struct curve c = curve_of(knee->sharpness, gate);
    double at = log(knee->at), ln_n = log(n), steep = steepness(&c, ln_n, at);
    return steep < steepness(&c, at, at) / 2
               ? (double)NAN
               : (log(fmax(au, LEAST_AU)) - ln_au(&c, ln_n, at)) / steep;
}
