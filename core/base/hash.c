#include "core/base/hash.h"

#include "core/base/io.h"

#define XXH_STATIC_LINKING_ONLY /* the size of its state */
#include <xxhash.h>

#define PIECE_BYTES ((size_t)64 << 10)

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

/* By pread: under Valgrind, all processes that a test forks share one position in /proc/self/exe.
 */
static bool add_file(struct dlb_hash *hash, int64_t file, const char *path)
{
    struct dlb_err ignored;
    char piece[PIECE_BYTES];
    uint64_t at = 0;
    size_t n = 0;

    do {
        if (dlb_io_posix.pread(file, piece, sizeof(piece), at, &n, path, &ignored) != DLB_OK)
            return false;
        dlb_hash_add(hash, piece, n);
        at += n;
    } while (n == sizeof(piece));
    return true;
}

bool dlb_hash_file(const char *path, uint64_t *hash)
{
    struct dlb_err ignored;
    struct dlb_hash state;
    int64_t file = -1;

    if (dlb_io_posix.open(path, &file, &ignored) != DLB_OK)
        return false;
    dlb_hash_begin(&state, 0);
    bool read = add_file(&state, file, path);
    dlb_io_posix.close(file);
    if (read)
        *hash = dlb_hash_end(&state);
    return read;
}
