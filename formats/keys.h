/* Finds keys of samples that occur again: a set of their hashes, 16 bytes for a key and as much
 * free.
 *
 * Floor 2. One thread at a time. */
#ifndef DLB_FORMATS_KEYS_H
#define DLB_FORMATS_KEYS_H

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

/* The entry of this key, added when it is new; borrowed until the next call. NULL: memory is short.
 */
struct dlb_key *dlb_keys_at(struct dlb_keys *keys, const char *key, size_t n_bytes);
void dlb_keys_clear(struct dlb_keys *keys); /* keeps the memory */
void dlb_keys_free(struct dlb_keys *keys);

#endif
