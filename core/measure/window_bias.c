#include "core/measure/window_bias.h"

#include "core/base/mem.h"
#include "core/base/rng.h"

#include <math.h>
#include <stdlib.h>

#define BATCHES UINT64_C(400000) /* to simulate for windows, and as many for the long run */
#define MAX_WINDOWS 2000
#define MAX_ROUNDS 1000
#define LONG_SKIPPED 50 /* rounds before the long run counts */
#define SHORTEST 0.05   /* batch, of the mean */

struct run {
    const struct dlb_bias_model *model;
    struct dlb_rng rng;
    double free_at[DLB_BIAS_MAX_WORKERS];
    double *taken; /* [n_ahead] a ring */
    uint64_t n_ahead, n;
    double step_end;
};

static double uniform(struct dlb_rng *rng)
{
    return ((double)dlb_rng_below(rng, UINT32_C(1) << 31) + 0.5) / (double)(UINT32_C(1) << 31);
}

/* Box and Muller, Annals of Mathematical Statistics 29, 1958. */
static double normal(struct dlb_rng *rng)
{
    return sqrt(-2 * log(uniform(rng))) * cos(2 * M_PI * uniform(rng));
}

static void begin(struct run *run)
{
    for (uint32_t w = 0; w < run->model->n_workers; w++)
        run->free_at[w] = 0;
    run->n = 0;
    run->step_end = 0;
}

/* When the next batch is taken; a mean batch takes 1. */
static double take(struct run *run)
{
    const struct dlb_bias_model *model = run->model;
    double *free_at = &run->free_at[run->n % model->n_workers];
    double *slot = &run->taken[run->n % run->n_ahead];
    double credit = run->n >= run->n_ahead ? *slot : 0;
    double takes = fmax(SHORTEST, 1 + model->batch_cv * normal(&run->rng));

    *free_at = fmax(*free_at, credit) + takes;
    *slot = fmax(run->step_end, *free_at);
    run->step_end = *slot + model->step_per_batch;
    run->n++;
    return *slot;
}

/* The time from one batch to the one n_batches after it. */
static double span(struct run *run, uint64_t n_skipped, uint64_t n_batches)
{
    double from = 0, to = 0;
    begin(run);
    for (uint64_t i = 0; i <= n_skipped; i++)
        from = take(run);
    for (uint64_t i = 0; i < n_batches; i++)
        to = take(run);
    return to - from;
}

static uint64_t windows_of(uint64_t n_batches)
{
    uint64_t n = BATCHES / n_batches;
    return n < 1 ? 1 : n < MAX_WINDOWS ? n : MAX_WINDOWS;
}

double dlb_window_bias(const struct dlb_bias_model *model)
{
    uint64_t round = model->n_workers, n = model->n_measured;
    double sum = 0;
    if (!isfinite(model->batch_cv) || !isfinite(model->step_per_batch) || round < 1 || n < 1 ||
        round > DLB_BIAS_MAX_WORKERS || model->batch_cv > DLB_BIAS_MAX_CV ||
        model->prefetch_factor < 1)
        return (double)NAN;
    if (n > MAX_ROUNDS * round || model->n_warmup > MAX_ROUNDS * round)
        return 0;
    struct run run = {.model = model,
                      .rng = dlb_rng_seed(0, 0, 0),
                      .n_ahead = (uint64_t)model->n_workers * model->prefetch_factor};
    run.taken = dlb_mem_array(run.n_ahead, sizeof(*run.taken));
    uint64_t n_windows = windows_of(model->n_warmup + n), n_long = BATCHES / round * round;
    for (uint64_t i = 0; i < n_windows; i++)
        sum += span(&run, model->n_warmup, n) / (double)n_windows;
    double one = span(&run, LONG_SKIPPED * round, n_long) / (double)n_long;
    free(run.taken);
    return one * (double)n / sum - 1;
}
