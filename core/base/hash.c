#include "core/base/hash.h"

#include "core/base/io.h"

#include <stdlib.h>

#define XXH_STATIC_LINKING_ONLY /* the size of its state */
#include <xxhash.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)

_Static_assert(sizeof(XXH64_state_t) <= sizeof(((struct dlb_hash *)0)->state),
               "libxxhash's state has grown");

uint64_t dlb_hash64(const void *data, size_t n_bytes, uint64_t seed)
{
    return XXH64(data, n_bytes, seed);
}

bool dlb_hash_file(const char *path, uint64_t *hash)
{
    struct dlb_err ignored;
    char *text = NULL;
    size_t n_bytes = 0;
    if (dlb_read_file(path, FILE_MAX_BYTES, &text, &n_bytes, &ignored) != DLB_OK)
        return false;
    *hash = dlb_hash64(text, n_bytes, 0);
    free(text);
    return true;
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
