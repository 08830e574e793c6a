/* By how much a window of few rounds differs from a long run.
 *
 * Floor 1. Pure; deterministic; any thread.
 *
 * Workers begin together. Where a batch's time varies they drift apart, and because batches are
 * delivered in order, each drift costs waiting. A window at the beginning of a run has not seen all
 * of that, so it is too fast. No closed form is known for W workers with prefetch_factor credits,
 * so the pool's rule is simulated: batch i is loaded by worker i mod W, as soon as that is free and
 * batch i - W prefetch_factor was taken, and it is taken when it and all before it are ready and
 * the device is free. Batch times are normal, cut at 5% of their mean. */
#ifndef DLB_CORE_MEASURE_WINDOW_BIAS_H
#define DLB_CORE_MEASURE_WINDOW_BIAS_H

#include <stdint.h>

struct dlb_bias_model {
    uint32_t n_workers; /* 1 to DLB_BIAS_MAX_WORKERS */
    uint32_t prefetch_factor;
    double batch_cv;               /* standard deviation over mean of a worker's time for a batch */
    double step_per_batch;         /* the device's step over that mean */
    uint64_t n_warmup, n_measured; /* batches */
};

#define DLB_BIAS_MAX_WORKERS 256
#define DLB_BIAS_MAX_CV 0.5 /* normal batch times are no model of more scatter */
#define DLB_BIAS_SAID 0.005 /* from here on a result says it */

/* Rate in the window over rate of a long run, less 1: above 0 the window is too fast. Its own error
 * is about 0.001 to 0.003. 0 for windows of more than a thousand rounds; NaN for figures that are
 * not finite, more workers, or more scatter. */
double dlb_window_bias(const struct dlb_bias_model *model);

#endif
