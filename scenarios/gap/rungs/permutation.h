/* A uniformly random permutation made by several threads; the same for any number of threads.
 *
 * Floor 4. Fisher-Yates accesses the whole order at random, which does not fit in a core's caches.
 * Here each number first goes to one of many buckets, drawn uniformly. Then each bucket, which fits
 * in a cache, is shuffled by Fisher-Yates. The buckets one after another are a uniform permutation
 * (Rao 1961, Sandelius 1962). Each block of numbers and each bucket has a random stream of its own,
 * so the result does not depend on which thread does what.
 *
 * There are three steps, and all threads finish one before the next begins: count every block; sum
 * (one thread); deal every block. After that any thread shuffles any bucket, once. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_PERMUTATION_H
#define DLB_SCENARIOS_GAP_RUNGS_PERMUTATION_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/memory.h"

#include <stdint.h>

struct dlb_gap_permutation {
    uint32_t n, n_blocks, n_buckets, bucket_bits;
    uint64_t seed, epoch;
    uint32_t *order;  /* [n], in `memory` */
    uint32_t *cursor; /* [n_blocks][n_buckets]: counts, then where the next number goes */
    uint32_t *begin;  /* [n_buckets + 1]: positions */
    struct dlb_gap_memory memory;
};

int dlb_gap_permutation_open(struct dlb_gap_permutation *p, uint32_t n, uint64_t seed,
                             struct dlb_err *err);
void dlb_gap_permutation_close(struct dlb_gap_permutation *p);

void dlb_gap_permutation_begin(struct dlb_gap_permutation *p, uint64_t epoch);
void dlb_gap_permutation_count(struct dlb_gap_permutation *p, uint32_t block);
void dlb_gap_permutation_sum(struct dlb_gap_permutation *p);
void dlb_gap_permutation_deal(struct dlb_gap_permutation *p, uint32_t block);
/* Once for each bucket: positions begin[bucket] to begin[bucket + 1] - 1 are final. */
void dlb_gap_permutation_shuffle(struct dlb_gap_permutation *p, uint32_t bucket);

#endif
