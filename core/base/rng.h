/* Random numbers and 64-bit hashes, the same on every machine.
 *
 * Floor 0. Any thread: a struct dlb_rng belongs to its caller. */
#ifndef DLB_CORE_BASE_RNG_H
#define DLB_CORE_BASE_RNG_H

#include <math.h>
#include <stdint.h>

/* splitmix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): a bijection of 64 bits, every input bit
 * reaches all output bits. */
static inline uint64_t dlb_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#define DLB_GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio: splitmix64's increment */

struct dlb_rng {
    uint64_t state;
};

/* Each (a, b, c), for instance (seed, epoch, sample), gives a stream of its own. */
static inline struct dlb_rng dlb_rng_seed(uint64_t a, uint64_t b, uint64_t c)
{
    return (struct dlb_rng){
        dlb_mix64(dlb_mix64(dlb_mix64(a + DLB_GOLDEN) + b + DLB_GOLDEN) + c + DLB_GOLDEN)};
}

static inline uint64_t dlb_rng_u64(struct dlb_rng *rng)
{
    return dlb_mix64(rng->state += DLB_GOLDEN);
}

/* In [0, 1), 53 bits. */
static inline double dlb_rng_unit(struct dlb_rng *rng)
{
    return (double)(dlb_rng_u64(rng) >> 11) * 0x1p-53;
}

/* In [0, n), n > 0, by Lemire's multiplication (bias below n / 2^64). */
static inline uint64_t dlb_rng_below(struct dlb_rng *rng, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)dlb_rng_u64(rng) * n) >> 64);
}

/* Standard normal, by Box and Muller; uses two draws. */
static inline double dlb_rng_normal(struct dlb_rng *rng)
{
    double u = 1.0 - dlb_rng_unit(rng); /* (0, 1]: log is finite */
    double v = dlb_rng_unit(rng);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

#endif
