#include "core/base/hash.h"

#include "core/base/rng.h"

#include <endian.h>
#include <string.h>

enum { BLOCK_BYTES = sizeof((struct dlb_hash *)0)->rest };

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

/* The round and the primes of XXH64 (Yann Collet). With a single multiplication, the highest bit
 * of a word would reach the next block as one bit, and one more flipped bit could cancel it. */
static inline uint64_t lane(uint64_t acc, uint64_t word)
{
    acc += word * UINT64_C(0xc2b2ae3d27d4eb4f);
    acc = (acc << 31) | (acc >> 33);
    return acc * UINT64_C(0x9e3779b185ebca87);
}

struct dlb_hash dlb_hash_begin(uint64_t seed)
{
    uint64_t a = seed + DLB_GOLDEN, b = dlb_mix64(a), c = dlb_mix64(b);
    return (struct dlb_hash){.lane = {a, b, c, dlb_mix64(c)}};
}

/* Hashes the whole blocks. */
static void take_blocks(struct dlb_hash *hash, const uint8_t *p, size_t n_bytes)
{
    uint64_t a = hash->lane[0], b = hash->lane[1], c = hash->lane[2], d = hash->lane[3];

    for (size_t left = n_bytes; left >= BLOCK_BYTES; left -= BLOCK_BYTES, p += BLOCK_BYTES) {
        a = lane(a, load64(p));
        b = lane(b, load64(p + 8));
        c = lane(c, load64(p + 16));
        d = lane(d, load64(p + 24));
    }
    hash->lane[0] = a;
    hash->lane[1] = b;
    hash->lane[2] = c;
    hash->lane[3] = d;
}

static uint64_t finish(const struct dlb_hash *hash, const uint8_t *p, size_t left, uint64_t n_bytes)
{
    uint64_t h = dlb_mix64(hash->lane[0]) + 3 * dlb_mix64(hash->lane[1]) +
                 5 * dlb_mix64(hash->lane[2]) + 7 * dlb_mix64(hash->lane[3]);
    for (; left >= 8; left -= 8, p += 8)
        h = lane(h, load64(p));
    if (left) {
        uint8_t tail[8] = {0};
        memcpy(tail, p, left);
        h = lane(h, load64(tail));
    }
    return dlb_mix64(h ^ n_bytes);
}

void dlb_hash_add(struct dlb_hash *hash, const void *data, size_t n_bytes)
{
    const uint8_t *p = data;
    size_t held = hash->n_bytes % BLOCK_BYTES;
    size_t lacking = held ? BLOCK_BYTES - held : 0, n = n_bytes < lacking ? n_bytes : lacking;

    hash->n_bytes += n_bytes;
    if (n > 0) {
        memcpy(hash->rest + held, p, n);
        take_blocks(hash, hash->rest, held + n);
    }
    p += n;
    n_bytes -= n;
    take_blocks(hash, p, n_bytes);
    if (n_bytes % BLOCK_BYTES > 0)
        memcpy(hash->rest, p + n_bytes - n_bytes % BLOCK_BYTES, n_bytes % BLOCK_BYTES);
}

uint64_t dlb_hash_end(const struct dlb_hash *hash)
{
    return finish(hash, hash->rest, hash->n_bytes % BLOCK_BYTES, hash->n_bytes);
}

uint64_t dlb_hash64(const void *data, size_t n_bytes, uint64_t seed)
{
    struct dlb_hash hash = dlb_hash_begin(seed);
    size_t left = n_bytes % BLOCK_BYTES;

    take_blocks(&hash, data, n_bytes);
    return finish(&hash, (const uint8_t *)data + (n_bytes - left), left, n_bytes);
}
