#include "loaders/sampler.h"

#include "core/base/rng.h"

#include <inttypes.h>
#include <string.h>

enum { PURPOSE_SAMPLES = 1, PURPOSE_SHARDS = 2 }; /* streams of random numbers that must differ */

static struct dlb_shuffled *order_of(struct dlb_sampler *sampler)
{
    return sampler->opts.order ? sampler->opts.order : &sampler->own;
}

uint64_t dlb_sampler_rank_shards(uint64_t n_shards, uint32_t rank, uint32_t world)
{
    return (n_shards + world - 1 - rank) / world;
}

int dlb_sampler_open(struct dlb_sampler *sampler, const struct dlb_shape *shape,
                     const struct dlb_sampler_opts *opts, bool across_processes,
                     struct dlb_err *err)
{
    *sampler =
        (struct dlb_sampler){.opts = *opts,
                             .iterable = shape->iterable,
                             .n_items = shape->iterable ? shape->n_shards : shape->n_samples};
    if (opts->world == 0 || opts->rank >= opts->world || opts->batch_size == 0)
        return dlb_fail(err, DLB_ERR_LOADER_RANK, NULL, DLB_NO_OFFSET,
                        "rank %u of world %u with batch_size %u has no meaning", opts->rank,
                        opts->world, opts->batch_size);
    if (sampler->iterable) {
        sampler->n_positions = dlb_sampler_rank_shards(sampler->n_items, opts->rank, opts->world);
        return DLB_OK;
    }
    sampler->n_positions = opts->drop_last ? sampler->n_items / opts->world
                                           : (sampler->n_items + opts->world - 1) / opts->world;
    sampler->n_batches = opts->drop_last
                             ? sampler->n_positions / opts->batch_size
                             : (sampler->n_positions + opts->batch_size - 1) / opts->batch_size;
    if (!opts->shuffle)
        return DLB_OK;
    size_t item_bytes = sampler->n_items <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
    struct dlb_shm *memory = &order_of(sampler)->memory;
    int rc = memory->addr
                 ? DLB_OK
                 : dlb_shm_create(memory, sampler->n_items * item_bytes, across_processes, err);
    sampler->order = memory->addr;
    if (rc == DLB_E_NOMEM)
        return dlb_fail(err, DLB_ERR_LOADER_ORDER_MEMORY, NULL, DLB_NO_OFFSET,
                        "the shuffled order of %" PRIu64
                        " samples does not fit in memory: set loader.shuffle = false",
                        sampler->n_items);
    return rc;
}

void dlb_sampler_close(struct dlb_sampler *sampler)
{
    dlb_shm_free(&sampler->own.memory);
}

static void permute32(uint32_t *order, uint64_t n, struct dlb_rng rng)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t j = dlb_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}

static void permute64(uint64_t *order, uint64_t n, struct dlb_rng rng)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t j = dlb_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

void dlb_sampler_begin_epoch(struct dlb_sampler *sampler, uint64_t epoch)
{
    sampler->epoch = epoch;
    if (!sampler->order || order_of(sampler)->n_begun == epoch + 1)
        return;
    order_of(sampler)->n_begun = epoch + 1;
    struct dlb_rng rng = dlb_rng_seed(sampler->opts.seed, epoch, PURPOSE_SAMPLES);
    if (sampler->n_items <= UINT32_MAX)
        permute32(sampler->order, sampler->n_items, rng);
    else
        permute64(sampler->order, sampler->n_items, rng);
}

uint64_t dlb_sampler_index(const struct dlb_sampler *sampler, uint64_t position)
{
    uint64_t at = sampler->opts.rank + position * sampler->opts.world;
    if (at >= sampler->n_items)
        at %= sampler->n_items; /* the padding of the last positions */
    if (!sampler->order)
        return at;
    if (sampler->n_items <= UINT32_MAX)
        return ((const uint32_t *)sampler->order)[at];
    return ((const uint64_t *)sampler->order)[at];
}

uint32_t dlb_sampler_batch_samples(const struct dlb_sampler *sampler, uint64_t batch)
{
    uint64_t left = sampler->n_positions - batch * sampler->opts.batch_size;
    return left < sampler->opts.batch_size ? (uint32_t)left : sampler->opts.batch_size;
}

uint32_t dlb_sampler_shards(const struct dlb_sampler *sampler, uint64_t epoch, uint32_t worker,
                            uint32_t n_workers, uint32_t *shards)
{
    uint32_t n = 0;
    uint64_t stride = (uint64_t)sampler->opts.world * n_workers;

    for (uint64_t s = sampler->opts.rank + (uint64_t)worker * sampler->opts.world;
         s < sampler->n_items; s += stride, n++)
        if (shards)
            shards[n] = (uint32_t)s;
    if (!shards || !sampler->opts.shuffle)
        return n;
    struct dlb_rng rng =
        dlb_rng_seed(sampler->opts.seed ^ dlb_mix64(worker), epoch, PURPOSE_SHARDS);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)dlb_rng_below(&rng, i);
        uint32_t keep = shards[i - 1];
        shards[i - 1] = shards[j];
        shards[j] = keep;
    }
    return n;
}

uint64_t dlb_sampler_expected(const struct dlb_sampler *sampler, const struct dlb_dataset *dataset,
                              uint32_t n_workers)
{
    uint32_t batch = sampler->opts.batch_size, workers = n_workers ? n_workers : 1;
    uint64_t expected = 0;

    if (!sampler->iterable)
        return sampler->opts.drop_last ? sampler->n_batches * batch : sampler->n_positions;
    for (uint32_t w = 0; w < workers; w++) {
        uint64_t n = 0, stride = (uint64_t)sampler->opts.world * workers;
        for (uint64_t s = sampler->opts.rank + (uint64_t)w * sampler->opts.world;
             s < sampler->n_items; s += stride)
            n += dataset->format->reader->shard_samples(dataset->state, (uint32_t)s);
        expected += sampler->opts.drop_last ? n / batch * batch : n;
    }
    return expected;
}

uint64_t dlb_sampler_repeats(const struct dlb_sampler *sampler, uint32_t first_rank,
                             uint32_t n_ranks)
{
    const struct dlb_sampler_opts *opts = &sampler->opts;

    if (sampler->iterable || opts->drop_last || sampler->n_positions == 0)
        return 0;
    uint64_t last = opts->rank + (sampler->n_positions - 1) * opts->world;
    if (last < sampler->n_items)
        return 0;
    uint64_t rank =
        last % sampler->n_items % opts->world; /* the rank that has it without padding */
    return rank >= first_rank && rank < (uint64_t)first_rank + n_ranks;
}
