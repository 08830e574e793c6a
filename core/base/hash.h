/* 64-bit checksum of bytes, for proof of delivery and for identifiers: XXH64, as libxxhash computes
 * it (xxhsum -H1). Not cryptographic.
 *
 * Floor 0. Any thread. The same on machines of any byte order. */
#ifndef DLB_CORE_BASE_HASH_H
#define DLB_CORE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t dlb_hash64(const void *data, size_t n_bytes, uint64_t seed);

/* Of a regular file's content. False: it cannot be read, and *hash is as it was. */
bool dlb_hash_file(const char *path, uint64_t *hash);

/* The same hash, of bytes that arrive in pieces. The state belongs to its holder; it holds no
 * pointers and needs no end. */
struct dlb_hash {
    _Alignas(64) unsigned char state[128];
};
void dlb_hash_begin(struct dlb_hash *hash, uint64_t seed);
void dlb_hash_add(struct dlb_hash *hash, const void *data, size_t n_bytes);
uint64_t dlb_hash_end(const struct dlb_hash *hash);

#endif
