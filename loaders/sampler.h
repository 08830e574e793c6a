/* The sampler: which samples a rank reads, in which order.
 *
 * Floor 3. dlb_sampler_begin_epoch is called on the consumer's thread while no worker reads; the
 * rest from any thread or process. The order lies in memory that is mapped before workers exist.
 *
 * Map-style: batch b of an epoch holds positions [b * B, (b + 1) * B) of this rank's order. The
 * order is the data set's own, or with shuffle a full permutation (Fisher-Yates). It depends on
 * seed and epoch alone, so it is the same for any number of workers. Ranks take every world-th
 * position, as torch's DistributedSampler does: padded from the start so that all ranks have
 * equally many, or cut to that with drop_last.
 *
 * Iterable: shards are ordered instead. Each rank takes every world-th shard, each of its workers
 * every n_workers-th of those, and with shuffle each worker permutes its own. */
#ifndef DLB_LOADERS_SAMPLER_H
#define DLB_LOADERS_SAMPLER_H

#include "core/base/err.h"
#include "core/base/shm.h"
#include "formats/dataset.h"

#include <stdbool.h>
#include <stdint.h>

/* A shuffled order of map-style data; zeroed before the first use. */
struct dlb_shuffled {
    struct dlb_shm memory; /* uint32_t[n_items] or uint64_t[n_items] */
    uint64_t n_begun;      /* 1 + the epoch whose order it holds; 0: none yet */
};

struct dlb_sampler_opts {
    uint64_t seed;
    uint32_t rank, world, batch_size;
    bool shuffle, drop_last;
    struct dlb_shuffled *order; /* borrowed: one for all ranks of a process, which begin an
                                epoch when all have ended the last; NULL: the sampler's own */
};

struct dlb_sampler {
    struct dlb_sampler_opts opts;
    uint64_t n_items;     /* samples of the data set, or shards */
    uint64_t n_positions; /* of this rank, an epoch */
    uint64_t n_batches;   /* map-style: of this rank, an epoch */
    uint64_t epoch;
    bool iterable;
    struct dlb_shuffled own; /* used when none is shared */
    void *order;             /* its memory; NULL without shuffle, and for iterable data */
};

int dlb_sampler_open(struct dlb_sampler *sampler, const struct dlb_shape *shape,
                     const struct dlb_sampler_opts *opts, bool across_processes,
                     struct dlb_err *err);
void dlb_sampler_close(struct dlb_sampler *sampler);

void dlb_sampler_begin_epoch(struct dlb_sampler *sampler, uint64_t epoch);

/* Map-style: the sample at a position < n_positions. */
uint64_t dlb_sampler_index(const struct dlb_sampler *sampler, uint64_t position);

/* Map-style: samples in batch b < n_batches. */
uint32_t dlb_sampler_batch_samples(const struct dlb_sampler *sampler, uint64_t batch);

/* Iterable: how many shards a worker has. Writes their numbers in this epoch's order to shards[],
 * unless it is NULL. */
uint32_t dlb_sampler_shards(const struct dlb_sampler *sampler, uint64_t epoch, uint32_t worker,
                            uint32_t n_workers, uint32_t *shards);

/* Iterable: how many shards a rank of `world` has of n_shards. */
uint64_t dlb_sampler_rank_shards(uint64_t n_shards, uint32_t rank, uint32_t world);

/* Samples that one epoch delivers to this rank if nothing is skipped. Iterable data sets drop the
 * last batch of each worker. n_workers 0 counts as 1. */
uint64_t dlb_sampler_expected(const struct dlb_sampler *sampler, const struct dlb_dataset *dataset,
                              uint32_t n_workers);

/* Map-style: positions that padding adds to this rank and whose samples one of the ranks
 * [first_rank, first_rank + n_ranks) delivers too. For data sets with at least as many samples as
 * ranks. */
uint64_t dlb_sampler_repeats(const struct dlb_sampler *sampler, uint32_t first_rank,
                             uint32_t n_ranks);

#endif
