#include "bench/base/hash.h"

#include "bench/base/rng.h"

#include <endian.h>
#include <string.h>

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

/* The round and the primes of XXH64 (Yann Collet). One multiplication alone would let the highest
 * bit of a word pass to the next block as a single bit, where one more flipped bit cancels it. */
static inline uint64_t lane(uint64_t acc, uint64_t word)
{
    acc += word * UINT64_C(0xc2b2ae3d27d4eb4f);
    acc = (acc << 31) | (acc >> 33);
    return acc * UINT64_C(0x9e3779b185ebca87);
}

uint64_t dlb_hash64(const void *data, size_t n_bytes, uint64_t seed)
{
    const uint8_t *p = data;
    size_t left = n_bytes;
    uint64_t a = seed + DLB_GOLDEN, b = dlb_mix64(a), c = dlb_mix64(b), d = dlb_mix64(c);

    for (; left >= 32; left -= 32, p += 32) {
        a = lane(a, load64(p));
        b = lane(b, load64(p + 8));
        c = lane(c, load64(p + 16));
        d = lane(d, load64(p + 24));
    }
    uint64_t h = dlb_mix64(a) + 3 * dlb_mix64(b) + 5 * dlb_mix64(c) + 7 * dlb_mix64(d);
    for (; left >= 8; left -= 8, p += 8)
        h = lane(h, load64(p));
    if (left) {
        uint8_t tail[8] = {0};
        memcpy(tail, p, left);
        h = lane(h, load64(tail));
    }
    return dlb_mix64(h ^ n_bytes);
}
