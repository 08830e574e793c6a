#include "formats/keys.h"

#include "core/base/hash.h"
#include "formats/headroom.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 1024 }; /* a power of two */

static struct dlb_key *find(const struct dlb_keys *keys, uint64_t hash)
{
    uint64_t i = hash & (keys->cap - 1);

    while (keys->slot[i].hash && keys->slot[i].hash != hash)
        i = (i + 1) & (keys->cap - 1);
    return &keys->slot[i];
}

static int grow(struct dlb_keys *keys, const char *path, struct dlb_err *err)
{
    struct dlb_keys larger = {.n = keys->n, .cap = keys->cap ? keys->cap * 2 : FIRST_CAP};
    int rc = dlb_headroom_check(dlb_keys_bytes(&larger), path, "a list of its samples' keys",
                                "use smaller shards, or fewer at a time", err);

    if (rc != DLB_OK)
        return rc;
    larger.slot = calloc(larger.cap, sizeof *larger.slot);
    if (!larger.slot)
        return dlb_fail_memory(err, path, dlb_keys_bytes(&larger));
    for (uint64_t i = 0; i < keys->cap; i++)
        if (keys->slot[i].hash)
            *find(&larger, keys->slot[i].hash) = keys->slot[i];
    free(keys->slot);
    *keys = larger;
    return DLB_OK;
}

struct dlb_key *dlb_keys_at_hash(struct dlb_keys *keys, uint64_t hash, const char *path,
                                 struct dlb_err *err)
{
    if (keys->n >= keys->cap / 2 && grow(keys, path, err) != DLB_OK)
        return NULL;
    struct dlb_key *at = find(keys, hash);
    if (!at->hash) {
        at->hash = hash;
        keys->n++;
    }
    return at;
}

struct dlb_key *dlb_keys_at(struct dlb_keys *keys, const char *key, size_t n_bytes,
                            const char *path, struct dlb_err *err)
{
    uint64_t hash = dlb_hash64(key, n_bytes, 0);

    return dlb_keys_at_hash(keys, hash + (hash == 0), path, err); /* 0: an empty slot */
}

uint64_t dlb_keys_bytes(const struct dlb_keys *keys)
{
    return keys->cap * sizeof *keys->slot;
}

void dlb_keys_clear(struct dlb_keys *keys)
{
    if (keys->n)
        memset(keys->slot, 0, keys->cap * sizeof *keys->slot);
    keys->n = 0;
}

void dlb_keys_free(struct dlb_keys *keys)
{
    free(keys->slot);
    *keys = (struct dlb_keys){.slot = NULL};
}
