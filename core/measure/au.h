/* Accelerator utilisation (AU) by the definitions in use, side by side.
 *
 * Floor 1. Pure functions, any thread.
 *
 * Each AU is that of one accelerator. Over several, MLPerf takes the mean (DLIO: an allreduce sum
 * divided by the number of ranks), and so does dlb_au_mean. The smallest is reported, too, because
 * a mean hides an accelerator that starves.
 *
 * Over the measured window, n steps over n intervals, without warm-up, with borders of epochs:
 *
 *   nominal    n c / window                 c: the step time that was asked for
 *   measured   sum of n steps / window      steps as the device took them
 *
 * Of each epoch of N steps, with warm-up; then the mean over epochs. T: from the end of the epoch's
 * first step to the end of its last:
 *
 *   mlperf_v1  (N - 1) c / T
 *   mlperf_v2  sum of steps 2 to N / T
 *
 * MLPerf Storage is DLIO (github.com/argonne-lcf/dlio_benchmark); both formulas are those of
 * StatsCounter.compute_metrics_train in dlio_benchmark/utils/statscounter.py, which divides the
 * sum of compute[1:] by end - start - proc[0]. Its compute was the configured step time until May
 * 2024 (v1.0), and since then (pull request 195; v2.0) is the time that was spent in compute().
 * In DLIO that is a sleep, with its oversleep; here it is the step as the device took it. All I/O
 * before the first step's end is left out of AU (mlcommons/storage, Rules.md).
 *
 * The samples/s that these publish count steps differently, and are computed as published. B: the
 * mean batch of the epoch; over accelerators they are added up, as DLIO does:
 *
 *   v1  N B / (T + all of the first step, with the wait for its batch)      all steps
 *   v2  (N - 2) B / T      a window of N - 1 steps, of which N - 2 are counted */
#ifndef DLB_CORE_MEASURE_AU_H
#define DLB_CORE_MEASURE_AU_H

#include <stdint.h>

/* NaN: not measured. */
struct dlb_au {
    double nominal, measured, mlperf_v1, mlperf_v2; /* 0 to 1 */
    double mlperf_v1_samples_per_s, mlperf_v2_samples_per_s;
};

/* The steps of one epoch on one accelerator; zeroed at first. */
struct dlb_au_epoch {
    uint64_t n_steps, n_samples;
    uint64_t asked_ns;                  /* for the first batch */
    uint64_t first_end_ns, last_end_ns; /* of steps */
    uint64_t compute_ns;                /* of steps 2 to N */
};

void dlb_au_step(struct dlb_au_epoch *epoch, uint64_t asked_ns, uint64_t start_ns, uint64_t end_ns,
                 uint64_t n_samples);

/* NaN for fewer than two steps. */
double dlb_au_mlperf_v1(const struct dlb_au_epoch *epoch, double step_ns);
double dlb_au_mlperf_v2(const struct dlb_au_epoch *epoch);
double dlb_rate_mlperf_v1(const struct dlb_au_epoch *epoch);
double dlb_rate_mlperf_v2(const struct dlb_au_epoch *epoch);

/* Over the accelerators of a run: the mean of each AU and the sum of each rate, and the smallest of
 * each. One that is NaN makes mean and smallest NaN. n >= 1. */
void dlb_au_mean(const struct dlb_au *each, uint32_t n, struct dlb_au *mean, struct dlb_au *lowest);

#endif
