#include "scenarios/gap/rungs/permutation.h"

#include "core/base/rng.h"

#include <string.h>

/* A bucket holds 32 KiB of the order, which fits in any second-level cache. At most 2^10 buckets
 * are written to at the same time: a second-level TLB holds that many pages. At least 2^6 buckets,
 * because threads also divide their work by buckets. */
enum { BUCKET_ENTRIES = 8192, MIN_BUCKET_BITS = 6, MAX_BUCKET_BITS = 10, N_BLOCKS = 64 };
enum { LINE_ENTRIES = 64 / sizeof(uint32_t) };            /* of a cache line */
enum { PURPOSE_DEAL = 0xdea1, PURPOSE_SHUFFLE = 0x5f1e }; /* random streams that must differ */

int dlb_gap_permutation_open(struct dlb_gap_permutation *p, uint32_t n, uint64_t seed,
                             struct dlb_err *err)
{
    *p = (struct dlb_gap_permutation){.n = n, .n_blocks = N_BLOCKS, .seed = seed};
    while (p->bucket_bits < MIN_BUCKET_BITS ||
           (p->bucket_bits < MAX_BUCKET_BITS && (n >> p->bucket_bits) > BUCKET_ENTRIES))
        p->bucket_bits++;
    p->n_buckets = UINT32_C(1) << p->bucket_bits;
    size_t n_cursor = (size_t)p->n_blocks * p->n_buckets;
    size_t n_words = n + n_cursor + p->n_buckets + 1;
    int rc = dlb_gap_map(&p->memory, n_words * sizeof(uint32_t), DLB_GAP_PRIVATE,
                         DLB_GAP_PAGES_HUGE, err);
    if (rc == DLB_OK)
        rc = dlb_gap_populate(&p->memory, NULL, err);
    if (rc != DLB_OK) {
        dlb_gap_unmap(&p->memory);
        return rc;
    }
    p->order = (uint32_t *)(void *)p->memory.addr;
    p->cursor = p->order + n;
    p->begin = p->cursor + n_cursor;
    return DLB_OK;
}

void dlb_gap_permutation_close(struct dlb_gap_permutation *p)
{
    dlb_gap_unmap(&p->memory);
    *p = (struct dlb_gap_permutation){.n = 0};
}

void dlb_gap_permutation_begin(struct dlb_gap_permutation *p, uint64_t epoch)
{
    p->epoch = epoch;
    memset(p->cursor, 0, (size_t)p->n_blocks * p->n_buckets * sizeof *p->cursor);
}

/* The numbers of one block, and the random stream that draws their buckets: bucket_bits at a time
 * from each 64 random bits, the same in both passes. */
struct dealing {
    uint32_t at, end;
    struct dlb_rng rng;
    uint64_t bits;
    uint32_t n_left; /* draws in `bits` */
};

static struct dealing dealing(const struct dlb_gap_permutation *p, uint32_t block)
{
    return (struct dealing){
        .at = (uint32_t)((uint64_t)p->n * block / p->n_blocks),
        .end = (uint32_t)((uint64_t)p->n * (block + 1) / p->n_blocks),
        .rng = dlb_rng_seed(p->seed, p->epoch, (uint64_t)block << 16 | PURPOSE_DEAL)};
}

static inline uint32_t draw_bucket(struct dealing *d, uint32_t bucket_bits)
{
    if (d->n_left == 0) {
        d->bits = dlb_rng_u64(&d->rng);
        d->n_left = 64 / MAX_BUCKET_BITS;
    }
    uint32_t bucket = (uint32_t)d->bits & ((UINT32_C(1) << bucket_bits) - 1);
    d->bits >>= MAX_BUCKET_BITS;
    d->n_left--;
    return bucket;
}

void dlb_gap_permutation_count(struct dlb_gap_permutation *p, uint32_t block)
{
    uint32_t *count = p->cursor + (size_t)block * p->n_buckets;
    struct dealing d = dealing(p, block);

    for (; d.at < d.end; d.at++)
        count[draw_bucket(&d, p->bucket_bits)]++;
}

void dlb_gap_permutation_sum(struct dlb_gap_permutation *p)
{
    uint32_t at = 0;

    for (uint32_t bucket = 0; bucket < p->n_buckets; bucket++) {
        p->begin[bucket] = at;
        for (uint32_t block = 0; block < p->n_blocks; block++) {
            uint32_t *cursor = &p->cursor[(size_t)block * p->n_buckets + bucket];
            uint32_t count = *cursor;
            *cursor = at;
            at += count;
        }
    }
    p->begin[p->n_buckets] = at;
}

void dlb_gap_permutation_deal(struct dlb_gap_permutation *p, uint32_t block)
{
    uint32_t *cursor = p->cursor + (size_t)block * p->n_buckets;
    struct dealing d = dealing(p, block);

    for (; d.at < d.end; d.at++) {
        uint32_t *place = &p->order[cursor[draw_bucket(&d, p->bucket_bits)]++];
        __builtin_prefetch(place + LINE_ENTRIES, 1); /* the rows of an epoch have evicted it */
        *place = d.at;
    }
}

/* A number in [0, n) from 32 random bits, exactly uniform (Lemire, ACM TOMACS 2019): the low half
 * of the product tells when the bits must be rejected, and then others are drawn. */
static inline uint32_t below(uint32_t bits, uint32_t n, struct dlb_rng *rng)
{
    uint64_t product = (uint64_t)bits * n;
    if (__builtin_expect((uint32_t)product < n, 0)) {
        uint32_t least = -n % n;
        while ((uint32_t)product < least)
            product = (uint64_t)(uint32_t)dlb_rng_u64(rng) * n;
    }
    return (uint32_t)(product >> 32);
}

static inline void swap(uint32_t *a, uint32_t *b)
{
    uint32_t keep = *a;
    *a = *b;
    *b = keep;
}

void dlb_gap_permutation_shuffle(struct dlb_gap_permutation *p, uint32_t bucket)
{
    uint32_t *order = p->order + p->begin[bucket];
    uint32_t n = p->begin[bucket + 1] - p->begin[bucket];
    struct dlb_rng rng = dlb_rng_seed(p->seed, p->epoch, (uint64_t)bucket << 16 | PURPOSE_SHUFFLE);

    for (uint32_t i = 0; i < n; i += LINE_ENTRIES)
        __builtin_prefetch(order + i, 1);
    for (; n > 2; n -= 2) { /* two numbers from each draw */
        uint64_t bits = dlb_rng_u64(&rng);
        swap(&order[n - 1], &order[below((uint32_t)bits, n, &rng)]);
        swap(&order[n - 2], &order[below((uint32_t)(bits >> 32), n - 1, &rng)]);
    }
    if (n == 2)
        swap(&order[1], &order[dlb_rng_u64(&rng) >> 63]);
}
