/* What a window says beyond its mean: the pace within epochs, what an epoch's border costs, and
 * whether the pace was steady.
 *
 * Floor 1. Plain sums of one accelerator, or of several added up; any thread. Times are
 * nanoseconds on the device's clock.
 *
 * W workers that start together deliver in bursts of W batches. So a *round* is W consecutive
 * batches of an epoch (a batch without workers), and whole rounds alone are measured. The first
 * round of an epoch is left out of the pace within epochs: the workers have nothing ready there.
 *
 *   within   whole rounds, none of them an epoch's first; no border
 *   cycles   from a step to the step of the same number in the next epoch: one border each
 *
 * With E batches in an epoch, a step takes t = within.ns / within.n_steps, of which i waits for
 * input, and
 *
 *   cycle = E t + border + ((-E) mod W) i
 *
 * The last term is the tail: an epoch's last round takes as long as a whole one, however few
 * batches it has, unless the device computes meanwhile. */
#ifndef DLB_CORE_MEASURE_PACE_H
#define DLB_CORE_MEASURE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* A stretch of steps: where its time went. busy and the three idle parts add up to ns. */
struct dlb_stretch {
    uint64_t n_steps, n_samples, ns;
    uint64_t busy_ns, idle_input_ns, idle_copy_ns, idle_other_ns;
    uint64_t late_copy_ns; /* part of idle_copy_ns (loaders/train/consumer.h) */
};

void dlb_stretch_add(struct dlb_stretch *into, const struct dlb_stretch *more);

#define DLB_PACE_BINS 64

/* How long rounds took, in order: bins of equally many rounds, the last one being filled. */
struct dlb_rounds {
    uint64_t bin_ns[DLB_PACE_BINS];
    uint32_t n_bins;      /* full ones */
    uint32_t rounds_each; /* of a full bin; 0 before the first round */
    uint32_t n_filling;   /* rounds in the bin that is being filled */
    uint64_t filling_ns;
};

void dlb_rounds_add(struct dlb_rounds *rounds, uint64_t ns);

/* How much slower the second half is than the first: (second - first) / first, of the mean round.
 * NaN with fewer than two bins. */
double dlb_rounds_trend(const struct dlb_rounds *rounds);

/* How far the trend of a steady window may be from 0: DLB_TREND_SLACK, or by the scatter of the
 * bins, where that is more. NaN with fewer than four bins: they show no scatter. */
double dlb_rounds_trend_limit(const struct dlb_rounds *rounds);

#define DLB_TREND_SLACK 0.02 /* smaller trends are steady in any case */
#define DLB_TREND_SIGMAS 3.0 /* standard errors of the difference of two halves */

/* Running mean and variance (Welford, Technometrics 4, 1962). */
struct dlb_moments {
    uint64_t n;
    double mean, m2;
};

void dlb_moments_add(struct dlb_moments *moments, double value);

/* Standard deviation over mean; NaN for fewer than two values. */
double dlb_moments_cv(const struct dlb_moments *moments);

/* NaN: not measured. */
struct dlb_pace {
    uint32_t round; /* W; 0: nothing was measured */
    uint32_t n_cycles;
    bool whole_rounds;      /* the window begins and ends at the same place of a round */
    double n_epoch_batches; /* that an epoch has; NaN: not known */
    struct dlb_stretch within, cycles;
    double trend, trend_limit; /* of the rounds within epochs (struct dlb_rounds); of several
                                  accelerators, the largest trend that has a limit */
    /* The share of the delivered batches that came from stock: ready batches that were fewer at the
     * window's end than at its beginning. The loader alone is slower by so much. 0 where the stock
     * grew, or shrank by no more than it does from round to round. NaN for windows of fewer than
     * DLB_DRAINED_MIN_ROUNDS. Of several accelerators, the largest. */
    double drained_frac;
    double batch_cv; /* standard deviation over mean of a worker's time for a batch, from one that
                        was ready to the next; of several accelerators, that of the first */
};

#define DLB_DRAINED_MIN_ROUNDS 4 /* with fewer no scatter is known */
#define DLB_DRAINED_SAID 0.005   /* from here on a result says that stock was being used up */

/* Whether the window has the four rounds within epochs without which no trend can be told from
 * their scatter. */
bool dlb_pace_tells_trend(const struct dlb_pace *pace);

/* Whether the pace of the window's second half agrees with that of its first. False where
 * dlb_pace_tells_trend is. */
bool dlb_pace_is_stationary(const struct dlb_pace *pace);

/* What several accelerators did at once, or several ranks with `of` accelerators each (NULL: one
 * each): the rate of a stretch, samples / ns for each accelerator, is the mean of theirs, and so
 * are its shares. A stretch that one of them lacks is empty. The trend and the round are the
 * largest, the epoch is the shortest: with shards that are divided unevenly they differ. n: 1 at
 * least. */
void dlb_paces_add_up(const struct dlb_pace *each, const uint32_t *of, uint32_t n,
                      struct dlb_pace *total);

/* Counts as they are, in times that are `by` times as long. */
void dlb_pace_stretch(struct dlb_pace *pace, double by);

/* One epoch, as it is measured or as the formula above projects it; shares are of its time. */
struct dlb_epoch_time {
    double ns;        /* of an epoch; of `within`: of a step */
    double border_ns; /* part of ns */
    double busy_frac, input_frac, copy_frac, late_copy_frac, other_frac;
};

/* A step within epochs. NaN if no such round was measured, or if an epoch has fewer than three
 * rounds: then there is no steady state. */
void dlb_pace_within(const struct dlb_pace *pace, struct dlb_epoch_time *out);

/* An epoch of `wanted` batches. NaN without a border; and where no pace within epochs is known, for
 * any but wanted == n_epoch_batches. */
void dlb_pace_epoch(const struct dlb_pace *pace, double wanted, struct dlb_epoch_time *out);

#endif
