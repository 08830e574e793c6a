#include "scenarios/storage/search.h"

#include "core/measure/stats.h"

#include <math.h>
#include <stddef.h>

#define MAX_FITTED 128
#define MAX_FITTED_VALUES 1024
#define MOST_NOISE 0.25 /* beyond, repetitions decide and no curve */
/* Of the crossing: where a number tells most about it, whatever the knee. */
#define FROM 0.95
#define TO 1.15
/* Values of the fit, times `repeats`: until N and N + 1 are settled, and until these are no longer
 * repeated. */
#define VALUES_PER_REPEAT 8
#define MOST_PER_REPEAT 12

static uint32_t n_counted(const struct dlb_search *s, const struct dlb_search_point *p)
{
    return p->n_values < s->repeats ? p->n_values : s->repeats;
}

double dlb_search_median(const struct dlb_search *s, const struct dlb_search_point *p)
{
    return p ? dlb_median(p->au, n_counted(s, p)) : (double)NAN;
}

static const struct dlb_search_point *point_of(const struct dlb_search *s, uint32_t n)
{
    for (uint32_t i = 0; i < s->n_points; i++)
        if (s->points[i].n == n && (s->points[i].n_values > 0 || s->points[i].impossible))
            return &s->points[i];
    return NULL;
}

static bool keeps(const struct dlb_search *s, const struct dlb_search_point *p)
{
    return !p->impossible && dlb_search_median(s, p) >= s->gate;
}

/* Whether a number has all its repetitions. */
static bool is_settled(const struct dlb_search *s, const struct dlb_search_point *p)
{
    return p && (p->impossible || n_counted(s, p) == s->repeats);
}

/* How many of its repetitions kept the gate. */
static uint32_t n_keeping(const struct dlb_search *s, const struct dlb_search_point *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; !p->impossible && i < n_counted(s, p); i++)
        n += p->au[i] >= s->gate;
    return n;
}

/* The lowest number that misses the gate, or 0. */
static uint32_t lowest_missing(const struct dlb_search *s)
{
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < s->n_points; i++) {
        const struct dlb_search_point *p = point_of(s, s->points[i].n);
        if (p && !keeps(s, p) && (lowest == 0 || p->n < lowest))
            lowest = p->n;
    }
    return lowest;
}

/* The highest number that keeps it, below `limit` (0: no limit); 0: none. */
static uint32_t highest_keeping(const struct dlb_search *s, uint32_t limit)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < s->n_points; i++) {
        const struct dlb_search_point *p = point_of(s, s->points[i].n);
        if (p && keeps(s, p) && (limit == 0 || p->n < limit) && p->n > highest)
            highest = p->n;
    }
    return highest;
}

static bool measure(struct dlb_search_step *step, uint32_t n)
{
    *step = (struct dlb_search_step){.n = n};
    return true;
}

/* Repeats the two at the border in turns, so that drift touches both. Whether there is more to do.
 */
static bool settle_border(const struct dlb_search *s, uint32_t keeping, uint32_t missing,
                          struct dlb_search_step *step)
{
    const struct dlb_search_point *a = point_of(s, keeping), *b = point_of(s, missing);
    bool a_left = a && !is_settled(s, a), b_left = b && !is_settled(s, b);
    if (!a_left && !b_left)
        return false;
    bool take_a = a_left && (!b_left || a->n_values <= b->n_values);
    return measure(step, take_a ? keeping : missing);
}

/* Searches down from `best` for a number whose repetitions all keep the gate. */
static bool find_low(const struct dlb_search *s, uint32_t best, uint32_t *low,
                     struct dlb_search_step *step)
{
    for (uint32_t at = best, stride = 1;; stride *= 2) {
        const struct dlb_search_point *p = point_of(s, at);
        *low = at;
        if (at == 0)
            return false;
        if (!is_settled(s, p))
            return measure(step, at);
        if (n_keeping(s, p) == s->repeats)
            return false;
        at = at > stride ? at - stride : 0;
    }
}

/* Searches up from the number that misses the gate for one that no repetition keeps. */
static bool find_high(const struct dlb_search *s, uint32_t missing, uint32_t *high,
                      struct dlb_search_step *step)
{
    for (uint32_t at = missing, stride = 1;; stride *= 2) {
        const struct dlb_search_point *p = point_of(s, at);
        *high = at - 1;
        if (!is_settled(s, p))
            return measure(step, at);
        if (n_keeping(s, p) == 0)
            return false;
        *high = at;
        if (at == s->max_n)
            return false;
        at = s->max_n - at > stride ? at + stride : s->max_n;
    }
}

/* The largest number with at least one repetition at the gate. */
static uint32_t highest_ever(const struct dlb_search *s)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < s->n_points; i++)
        if (s->points[i].n > highest && n_keeping(s, &s->points[i]) > 0)
            highest = s->points[i].n;
    return highest;
}

uint32_t dlb_search_kept_above(const struct dlb_search *s, uint32_t *missed)
{
    uint32_t highest = highest_keeping(s, 0);
    *missed = lowest_missing(s);
    return *missed > 0 && highest > *missed ? highest : 0;
}

static bool is_near(const struct dlb_search_point *p, uint32_t border)
{
    return !p->impossible && p->n_values > 0 && 2 * p->n >= border && p->n / 2 <= border;
}

/* How far, in ln n, the rank's crossing is from the curve's: the median of its repetitions. NaN
 * where none shows it. */
static double rank_off(const struct dlb_search *s, uint32_t border, const struct dlb_knee *knee,
                       uint32_t rank)
{
    double off[MAX_FITTED_VALUES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_points; i++) {
        const struct dlb_search_point *p = &s->points[i];
        for (uint32_t k = 0; is_near(p, border) && k < n_counted(s, p); k++)
            if (n < MAX_FITTED_VALUES)
                off[n++] = dlb_knee_off(knee, s->gate, p->n, p->rank_au[k * s->n_ranks + rank]);
    }
    return dlb_median(off, n);
}

/* Another rank than the chosen one may be fed worst: the interval reaches down as far as that of
 * any of them would. */
static void widen(const struct dlb_search *s, uint32_t border, struct dlb_knee *knee)
{
    double least = 0;
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        least = fmin(least, rank_off(s, border, knee, rank));
    knee->low *= exp(least);
}

/* What the fit may use: numbers from half of the border to twice of it. */
static void fit(const struct dlb_search *s, uint32_t border, struct dlb_knee *knee)
{
    struct dlb_knee_point points[MAX_FITTED];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_points && n < MAX_FITTED; i++) {
        const struct dlb_search_point *p = &s->points[i];
        if (is_near(p, border))
            points[n++] = (struct dlb_knee_point){p->n, n_counted(s, p), p->au};
    }
    dlb_knee_fit(points, n, s->gate, knee);
    if (knee->fitted)
        widen(s, border, knee);
}

static uint32_t n_fitted_values(const struct dlb_search *s, uint32_t border)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_points; i++)
        if (2 * s->points[i].n >= border && s->points[i].n / 2 <= border)
            n += n_counted(s, &s->points[i]);
    return n;
}

/* The lowest number that has all its repetitions, and whose predecessor has them, too; or 0. From
 * then on the curve decides. */
static uint32_t settled_border(const struct dlb_search *s)
{
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < s->n_points; i++) {
        uint32_t n = s->points[i].n;
        if (n > 1 && (lowest == 0 || n < lowest) && is_settled(s, point_of(s, n)) &&
            is_settled(s, point_of(s, n - 1)))
            lowest = n;
    }
    return lowest;
}

/* The largest number that can be measured. */
static uint32_t most_possible(const struct dlb_search *s)
{
    uint32_t most = s->max_n;
    for (uint32_t i = 0; i < s->n_points; i++)
        if (s->points[i].impossible && s->points[i].n <= most)
            most = s->points[i].n - 1;
    return most;
}

/* The whole accelerators of a real number, within what was possible. */
static uint32_t whole(double value, uint32_t most)
{
    return value < most ? (uint32_t)value : most;
}

/* Of the numbers from low to high + 1 that have repetitions left, the one that is farthest from the
 * crossing, where the curve is known least. */
static uint32_t widest(const struct dlb_search *s, const struct dlb_knee *knee, uint32_t low,
                       uint32_t high)
{
    uint32_t chosen = 0;
    double farthest = -1;
    double least = fmax(low, floor(knee->at * FROM)), most = fmin(high, ceil(knee->at * TO));
    for (uint32_t n = (uint32_t)fmax(least, 1); n <= most; n++) {
        double distance = fabs(log(n / knee->at));
        if (!is_settled(s, point_of(s, n)) && distance > farthest) {
            farthest = distance;
            chosen = n;
        }
    }
    return chosen;
}

/* The first of N and N + 1 that has too few repetitions; 0: none. */
static uint32_t unsettled(const struct dlb_search *s, uint32_t best, uint32_t most, uint32_t wanted)
{
    for (uint32_t n = best; n <= best + 1 && n <= most; n++) {
        const struct dlb_search_point *p = n > 0 ? point_of(s, n) : NULL;
        if (n > 0 && (!p || n_counted(s, p) < wanted))
            return n;
    }
    return 0;
}

/* Measures where the interval is widest until it holds one number or the values are spent; then N
 * and N + 1. Each of these moves the fit a little: when they have taken as many values again, one
 * is enough. Whether there is more to do. */
static bool refine(const struct dlb_search *s, uint32_t border, struct dlb_search_step *end,
                   struct dlb_search_step *step)
{
    uint32_t most = most_possible(s), n_values = n_fitted_values(s, border), n = 0;
    end->best = whole(end->knee.at, most);
    end->low = whole(end->knee.low, most);
    end->high = whole(end->knee.high, most);
    end->capped = end->best == most;
    if (end->low < end->high && n_values < VALUES_PER_REPEAT * s->repeats)
        n = widest(s, &end->knee, end->low, end->high < most ? end->high + 1 : most);
    if (n == 0)
        n = unsettled(s, end->best, most, n_values < MOST_PER_REPEAT * s->repeats ? s->repeats : 1);
    return n > 0 && measure(step, n);
}

/* Whether the curve describes what was measured. */
static bool is_described(const struct dlb_knee *knee)
{
    return knee->fitted && knee->noise_frac < MOST_NOISE &&
           !(knee->lack_of_fit_p < DLB_KNEE_LACK_P);
}

/* By the curve, once two neighbours are settled. False: no curve describes what was measured. */
static bool decide_by_curve(const struct dlb_search *s, struct dlb_search_step *end,
                            struct dlb_search_step *step)
{
    uint32_t border = settled_border(s);
    if (border == 0 || border > most_possible(s))
        return false;
    fit(s, border, &end->knee);
    end->fitted = is_described(&end->knee);
    if (end->fitted && !refine(s, border, end, step))
        *step = *end;
    return end->fitted;
}

static void decide(const struct dlb_search *s, struct dlb_search_step *step)
{
    uint32_t missing = lowest_missing(s), keeping = highest_keeping(s, missing);
    struct dlb_search_step end = {.done = true, .best = keeping, .low = keeping, .high = keeping};

    if (decide_by_curve(s, &end, step))
        return;
    if (missing == 0 && keeping < s->max_n) {
        (void)measure(step, keeping == 0 ? 1 : keeping > s->max_n / 2 ? s->max_n : 2 * keeping);
        return;
    }
    if (missing > keeping + 1) {
        (void)measure(step, keeping + (missing - keeping) / 2);
        return;
    }
    if (settle_border(s, keeping, missing, step) || find_low(s, keeping, &end.low, step) ||
        (missing > 0 && find_high(s, missing, &end.high, step)))
        return;
    const struct dlb_search_point *beyond = point_of(s, missing);
    end.capped = missing == 0 || (beyond && beyond->impossible);
    uint32_t ever = highest_ever(s);
    if (ever > end.high)
        end.high = ever;
    *step = end;
}

/* Ends now. Without a curve the bounds are what the repetitions so far leave possible. */
static void cut_short(const struct dlb_search *s, struct dlb_search_step *step)
{
    uint32_t missing = lowest_missing(s), keeping = highest_keeping(s, missing);
    uint32_t most = most_possible(s), ever = highest_ever(s);
    *step = (struct dlb_search_step){.done = true, .cut = true, .best = keeping, .low = keeping};
    step->high = missing == 0 ? UINT32_MAX : missing - 1 > ever ? missing - 1 : ever;
    if (missing == 0)
        return;
    fit(s, missing, &step->knee);
    step->fitted = is_described(&step->knee);
    if (!step->fitted)
        return;
    uint32_t low = whole(step->knee.low, most), high = whole(step->knee.high, most);
    step->low = low < keeping ? low : keeping;
    step->high = high > keeping ? high : keeping;
}

void dlb_search_next(const struct dlb_search *s, struct dlb_search_step *step)
{
    decide(s, step);
    if (!step->done && s->spent)
        cut_short(s, step);
}

uint32_t dlb_search_n_runs(uint32_t n, uint32_t repeats)
{
    uint32_t n_doublings = 0;
    while (n_doublings < 31 && (UINT32_C(1) << n_doublings) < n)
        n_doublings++;
    return n <= 1 ? 2 * repeats : 2 * n_doublings + 1 + MOST_PER_REPEAT * repeats;
}
