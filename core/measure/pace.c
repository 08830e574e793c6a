#include "core/measure/pace.h"

#include <math.h>
#include <stddef.h>

#define ROUNDS_FOR_STEADY 3 /* of an epoch: with fewer there is its first and its last round */

void dlb_stretch_add(struct dlb_stretch *into, const struct dlb_stretch *more)
{
    into->n_steps += more->n_steps;
    into->n_samples += more->n_samples;
    into->ns += more->ns;
    into->busy_ns += more->busy_ns;
    into->idle_input_ns += more->idle_input_ns;
    into->idle_copy_ns += more->idle_copy_ns;
    into->idle_other_ns += more->idle_other_ns;
    into->late_copy_ns += more->late_copy_ns;
}

/* Makes room by joining each bin with the one after it. */
static void join_bins(struct dlb_rounds *rounds)
{
    for (size_t i = 0; i < DLB_PACE_BINS / 2; i++)
        rounds->bin_ns[i] = rounds->bin_ns[2 * i] + rounds->bin_ns[2 * i + 1];
    rounds->n_bins = DLB_PACE_BINS / 2;
    rounds->rounds_each *= 2;
}

void dlb_rounds_add(struct dlb_rounds *rounds, uint64_t ns)
{
    if (rounds->rounds_each == 0)
        rounds->rounds_each = 1;
    rounds->filling_ns += ns;
    if (++rounds->n_filling < rounds->rounds_each)
        return;
    rounds->bin_ns[rounds->n_bins++] = rounds->filling_ns;
    rounds->n_filling = 0;
    rounds->filling_ns = 0;
    if (rounds->n_bins == DLB_PACE_BINS)
        join_bins(rounds);
}

static struct dlb_moments moments_of(const struct dlb_rounds *rounds, uint32_t from, uint32_t n)
{
    struct dlb_moments out = {0};
    for (uint32_t i = 0; i < n; i++)
        dlb_moments_add(&out, (double)rounds->bin_ns[from + i]);
    return out;
}

double dlb_rounds_trend(const struct dlb_rounds *rounds)
{
    uint32_t half = rounds->n_bins / 2;
    if (half == 0)
        return (double)NAN;
    double first = moments_of(rounds, 0, half).mean;
    return (moments_of(rounds, rounds->n_bins - half, half).mean - first) / first;
}

double dlb_rounds_trend_limit(const struct dlb_rounds *rounds)
{
    uint32_t half = rounds->n_bins / 2;
    if (half < 2)
        return (double)NAN; /* two bins show no scatter */
    struct dlb_moments first = moments_of(rounds, 0, half),
                       second = moments_of(rounds, rounds->n_bins - half, half);
    double n = half, variance = (first.m2 + second.m2) / (2 * n - 2);
    return fmax(DLB_TREND_SLACK, DLB_TREND_SIGMAS * sqrt(2 * variance / n) / first.mean);
}

void dlb_moments_add(struct dlb_moments *moments, double value)
{
    double off = value - moments->mean;
    moments->n++;
    moments->mean += off / (double)moments->n;
    moments->m2 += off * (value - moments->mean);
}

double dlb_moments_cv(const struct dlb_moments *moments)
{
    if (moments->n < 2 || !(moments->mean > 0))
        return (double)NAN;
    return sqrt(moments->m2 / (double)(moments->n - 1)) / moments->mean;
}

bool dlb_pace_tells_trend(const struct dlb_pace *pace)
{
    return isfinite(pace->trend) && isfinite(pace->trend_limit);
}

bool dlb_pace_is_stationary(const struct dlb_pace *pace)
{
    return dlb_pace_tells_trend(pace) && fabs(pace->trend) <= pace->trend_limit;
}

/* All but the stretches. */
static void join_paces(struct dlb_pace *into, const struct dlb_pace *more)
{
    into->n_cycles += more->n_cycles;
    into->round = more->round > into->round ? more->round : into->round;
    into->n_epoch_batches = fmin(into->n_epoch_batches, more->n_epoch_batches);
    into->whole_rounds = into->whole_rounds && more->whole_rounds;
    into->drained_frac = fmax(into->drained_frac, more->drained_frac);
    if (dlb_pace_tells_trend(more) &&
        !(dlb_pace_tells_trend(into) && fabs(into->trend) >= fabs(more->trend))) {
        into->trend = more->trend;
        into->trend_limit = more->trend_limit;
    }
}

/* A time in nanoseconds; 0 where it is none: what other ranks tell may be anything. */
static uint64_t whole_ns(double ns)
{
    return ns >= 1 && ns < 0x1p64 ? (uint64_t)ns : 0;
}

/* What the parts leave of its time. */
static void fill_rest(struct dlb_stretch *stretch)
{
    uint64_t sum_ns = stretch->busy_ns + stretch->idle_input_ns + stretch->idle_copy_ns;
    if (sum_ns > stretch->ns) /* by a rounding */
        stretch->ns = sum_ns;
    stretch->idle_other_ns = stretch->ns - sum_ns;
}

/* Of one rank, weighted by its accelerators: its rate, and its shares. */
struct weighted {
    double n, samples_per_ns, busy, input, copy, late_copy;
};

static void add_weighted(struct weighted *sum, const struct dlb_stretch *one, double of)
{
    double part = of / (double)one->ns;
    sum->n += of;
    sum->samples_per_ns += (double)one->n_samples * part;
    sum->busy += (double)one->busy_ns * part;
    sum->input += (double)one->idle_input_ns * part;
    sum->copy += (double)one->idle_copy_ns * part;
    sum->late_copy += (double)one->late_copy_ns * part;
}

static struct dlb_stretch weighted_mean(const struct weighted *sum, struct dlb_stretch total)
{
    double ns = (double)total.n_samples * sum->n / sum->samples_per_ns, each = ns / sum->n;
    total.ns = whole_ns(ns);
    if (total.ns == 0)
        return (struct dlb_stretch){0};
    total.busy_ns = whole_ns(sum->busy * each);
    total.idle_input_ns = whole_ns(sum->input * each);
    total.idle_copy_ns = whole_ns(sum->copy * each);
    total.late_copy_ns = whole_ns(sum->late_copy * each);
    fill_rest(&total);
    return total;
}

/* The stretch at `offset` of each pace. */
static struct dlb_stretch add_up(const struct dlb_pace *each, const uint32_t *of, uint32_t n,
                                 size_t offset)
{
    struct weighted sum = {0};
    struct dlb_stretch total = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct dlb_stretch *one =
            (const struct dlb_stretch *)((const char *)&each[i] + offset);
        if (one->n_steps == 0 || one->n_samples == 0 || one->ns == 0)
            return (struct dlb_stretch){0};
        dlb_stretch_add(&total, one);
        add_weighted(&sum, one, of ? of[i] : 1);
    }
    return weighted_mean(&sum, total);
}

void dlb_paces_add_up(const struct dlb_pace *each, const uint32_t *of, uint32_t n,
                      struct dlb_pace *total)
{
    *total = each[0];
    if (n == 1) /* exact */
        return;
    for (uint32_t i = 1; i < n; i++)
        join_paces(total, &each[i]);
    total->within = add_up(each, of, n, offsetof(struct dlb_pace, within));
    total->cycles = add_up(each, of, n, offsetof(struct dlb_pace, cycles));
    if (total->cycles.n_steps == 0)
        total->n_cycles = 0;
}

static void lengthen(struct dlb_stretch *stretch, double by)
{
    uint64_t *const times[] = {&stretch->ns, &stretch->busy_ns, &stretch->idle_input_ns,
                               &stretch->idle_copy_ns, &stretch->late_copy_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        *times[i] = whole_ns((double)*times[i] * by);
    fill_rest(stretch);
}

void dlb_pace_stretch(struct dlb_pace *pace, double by)
{
    lengthen(&pace->within, by);
    lengthen(&pace->cycles, by);
}

/* Mean times: of a step, or of an epoch. */
struct times {
    double ns, busy, input, copy, late_copy, other;
};

static struct times over(const struct dlb_stretch *stretch, double n)
{
    return (struct times){.ns = (double)stretch->ns / n,
                          .busy = (double)stretch->busy_ns / n,
                          .input = (double)stretch->idle_input_ns / n,
                          .copy = (double)stretch->idle_copy_ns / n,
                          .late_copy = (double)stretch->late_copy_ns / n,
                          .other = (double)stretch->idle_other_ns / n};
}

/* a + n b, part by part. */
static struct times plus(struct times a, double n, struct times b)
{
    return (struct times){.ns = a.ns + n * b.ns,
                          .busy = a.busy + n * b.busy,
                          .input = a.input + n * b.input,
                          .copy = a.copy + n * b.copy,
                          .late_copy = a.late_copy + n * b.late_copy,
                          .other = a.other + n * b.other};
}

/* Differences of measured times may fall below 0 by their noise. */
static struct dlb_epoch_time in_shares(const struct times *t, double border_ns)
{
    return (struct dlb_epoch_time){.ns = t->ns,
                                   .border_ns = border_ns,
                                   .busy_frac = fmax(t->busy, 0) / t->ns,
                                   .input_frac = fmax(t->input, 0) / t->ns,
                                   .copy_frac = fmax(t->copy, 0) / t->ns,
                                   .late_copy_frac = fmax(t->late_copy, 0) / t->ns,
                                   .other_frac = fmax(t->other, 0) / t->ns};
}

static const struct dlb_epoch_time not_measured = {
    (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};

static bool has_within(const struct dlb_pace *pace)
{
    return pace->within.n_steps > 0 &&
           pace->n_epoch_batches >= (double)ROUNDS_FOR_STEADY * pace->round;
}

void dlb_pace_within(const struct dlb_pace *pace, struct dlb_epoch_time *out)
{
    *out = not_measured;
    if (!has_within(pace))
        return;
    struct times step = over(&pace->within, (double)pace->within.n_steps);
    *out = in_shares(&step, 0);
}

/* The tail of an epoch of n batches, as steps' input wait. */
static struct times tail_of(const struct dlb_pace *pace, double n, const struct times *step)
{
    double short_of_round = fmod((double)pace->round - fmod(n, pace->round), pace->round);
    return (struct times){.ns = short_of_round * step->input,
                          .input = short_of_round * step->input};
}

void dlb_pace_epoch(const struct dlb_pace *pace, double wanted, struct dlb_epoch_time *out)
{
    *out = not_measured;
    if (pace->n_cycles == 0 || !(wanted >= 1))
        return;
    struct times cycle = over(&pace->cycles, pace->n_cycles);
    if (!has_within(pace)) {
        if (wanted == pace->n_epoch_batches)
            *out = in_shares(&cycle, (double)NAN);
        return;
    }
    struct times step = over(&pace->within, (double)pace->within.n_steps);
    double measured = (double)pace->cycles.n_steps / pace->n_cycles;
    struct times border = plus(plus(cycle, -measured, step), -1, tail_of(pace, measured, &step));
    struct times epoch = plus(plus(border, wanted, step), 1, tail_of(pace, wanted, &step));
    *out = in_shares(&epoch, border.ns);
}
