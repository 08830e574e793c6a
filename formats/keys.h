/* Finds keys of samples that occur again: a set of their hashes, 16 bytes for a key and as much
 * free. It grows as long as the machine has the memory (formats/headroom.h).
 *
 * Floor 2. One thread at a time. */
#ifndef DLB_FORMATS_KEYS_H
#define DLB_FORMATS_KEYS_H

#include "core/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_key {
    uint64_t hash;
    uint32_t place, fields; /* the caller's; 0 in a key that is new */
};

struct dlb_keys {
    struct dlb_key *slot;
    uint64_t n, cap;
};

/* The entry of this key, added when it is new; borrowed until the next call. NULL: DLB_E_NOMEM,
 * with the source's `path`. */
struct dlb_key *dlb_keys_at(struct dlb_keys *keys, const char *key, size_t n_bytes,
                            const char *path, struct dlb_err *err);
/* The same by the hash of an entry, perhaps of another set. */
struct dlb_key *dlb_keys_at_hash(struct dlb_keys *keys, uint64_t hash, const char *path,
                                 struct dlb_err *err);
uint64_t dlb_keys_bytes(const struct dlb_keys *keys);
void dlb_keys_clear(struct dlb_keys *keys); /* keeps the memory */
void dlb_keys_free(struct dlb_keys *keys);

#endif
