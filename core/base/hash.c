#include "core/base/hash.h"

#define XXH_STATIC_LINKING_ONLY /* the size of its state */
#include <xxhash.h>

_Static_assert(sizeof(XXH64_state_t) <= sizeof(((struct dlb_hash *)0)->state),
               "libxxhash's state has grown");

uint64_t dlb_hash64(const void *data, size_t n_bytes, uint64_t seed)
{
    return XXH64(data, n_bytes, seed);
}

void dlb_hash_begin(struct dlb_hash *hash, uint64_t seed)
{
    (void)XXH64_reset((XXH64_state_t *)(void *)hash->state, seed);
}

void dlb_hash_add(struct dlb_hash *hash, const void *data, size_t n_bytes)
{
    (void)XXH64_update((XXH64_state_t *)(void *)hash->state, data, n_bytes);
}

uint64_t dlb_hash_end(const struct dlb_hash *hash)
{
    return XXH64_digest((const XXH64_state_t *)(const void *)hash->state);
}
