/* Fast 64-bit checksum of bytes, for proof of delivery and for identifiers. Not cryptographic.
 *
 * Floor 0. Any thread. Four lanes of multiply and rotate (XXH64's round) over 32-byte blocks;
 * endian-fixed, so that a hash written on one machine compares on another. */
#ifndef DLB_CORE_BASE_HASH_H
#define DLB_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t dlb_hash64(const void *data, size_t n_bytes, uint64_t seed);

/* The same hash, of bytes that arrive in pieces. */
struct dlb_hash {
    uint64_t lane[4];
    uint64_t n_bytes;
    uint8_t rest[32]; /* [n_bytes % 32] bytes that do not fill a block yet */
};
struct dlb_hash dlb_hash_begin(uint64_t seed);
void dlb_hash_add(struct dlb_hash *hash, const void *data, size_t n_bytes);
uint64_t dlb_hash_end(const struct dlb_hash *hash);

#endif
