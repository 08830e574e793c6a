#include "scenarios/spec/rounds.h"

#include "loaders/sampler.h"

#include <math.h>

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

uint32_t dlb_spec_round(const struct dlb_spec *spec, uint32_t n_busy)
{
    uint32_t workers = n_busy > 0 ? n_busy : 1;
    if (!spec->accelerators.shared_workers)
        return workers;
    /* The accelerators share a burst. */
    return workers / common_divisor(workers, (uint32_t)spec->accelerators.count);
}

static uint64_t whole_rounds(int64_t n_batches, uint32_t round)
{
    uint64_t n = (uint64_t)n_batches;
    return (n + round - 1) / round * round;
}

uint64_t dlb_spec_warmup(const struct dlb_spec *spec, uint32_t round, double n_all)
{
    uint64_t whole = whole_rounds(spec->run.warmup_batches, round);
    bool too_few = (double)(whole + round + 1) > n_all;
    return too_few ? (uint64_t)spec->run.warmup_batches : whole;
}

/* Batches of one accelerator that may be ready when its window opens. */
static int64_t stock(const struct dlb_spec *spec)
{
    int64_t n = spec->loader.num_workers * spec->loader.prefetch_factor;
    int64_t sharing = spec->accelerators.shared_workers ? spec->accelerators.count : 1;
    return (n + sharing - 1) / sharing;
}

uint64_t dlb_spec_max_batches(const struct dlb_spec *spec, uint32_t round)
{
    int64_t n = spec->run.max_batches, least = stock(spec) + 1 - spec->run.warmup_batches;
    return whole_rounds(n > 0 && n < least ? least : n, round);
}

double dlb_spec_wanted(const struct dlb_spec *spec)
{
    uint32_t round = dlb_spec_round(spec, (uint32_t)spec->loader.num_workers);
    if (spec->run.max_batches == 0)
        return (double)NAN;
    return (double)(dlb_spec_warmup(spec, round, (double)NAN) + dlb_spec_max_batches(spec, round) +
                    1);
}

double dlb_spec_epoch_batches(const struct dlb_spec *spec, bool iterable, uint64_t n_samples)
{
    double ranks = (double)dlb_spec_ranks(spec), batch = (double)spec->loader.batch_size;
    double sharing = (double)spec->accelerators.count / dlb_spec_loaders(spec);
    if (n_samples == 0)
        return (double)NAN;
    if (iterable)
        return ceil((double)n_samples / (ranks * sharing * batch));
    struct dlb_sampler sampler;
    struct dlb_shape shape = {.n_samples = n_samples};
    struct dlb_sampler_opts opts = {.world = (uint32_t)dlb_spec_ranks(spec),
                                    .batch_size = (uint32_t)spec->loader.batch_size,
                                    .drop_last = spec->loader.drop_last};
    struct dlb_err ignored;
    double n = (double)NAN;
    if (!dlb_sampler_open(&sampler, &shape, &opts, false, &ignored)) {
        n = (double)sampler.n_batches / sharing;
        dlb_sampler_close(&sampler);
    }
    return n;
}
