/* A whole permutation made by the calling thread, by the steps that a rung's threads share.
 *
 * Header-only, for tests and benchmarks. */
#ifndef DLB_TESTS_SUPPORT_PERMUTATION_H
#define DLB_TESTS_SUPPORT_PERMUTATION_H

#include "scenarios/gap/rungs/permutation.h"

static inline void permutation_make(struct dlb_gap_permutation *p, uint64_t epoch)
{
    dlb_gap_permutation_begin(p, epoch);
    for (uint32_t block = 0; block < p->n_blocks; block++)
        dlb_gap_permutation_count(p, block);
    dlb_gap_permutation_sum(p);
    for (uint32_t block = 0; block < p->n_blocks; block++)
        dlb_gap_permutation_deal(p, block);
    for (uint32_t bucket = 0; bucket < p->n_buckets; bucket++)
        dlb_gap_permutation_shuffle(p, bucket);
}

#endif
