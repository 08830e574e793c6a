#include "scenarios/storage/search.h"

#include "core/measure/stats.h"

#include <math.h>
#include <stddef.h>

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

void dlb_search_next(const struct dlb_search *s, struct dlb_search_step *step)
{
    uint32_t missing = lowest_missing(s), keeping = highest_keeping(s, missing);
    struct dlb_search_step end = {.done = true, .best = keeping, .low = keeping, .high = keeping};

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
