/* A folder that gen writes to, and a hash of all that it wrote. */
#ifndef DLB_TESTS_GEN_TARGET_H
#define DLB_TESTS_GEN_TARGET_H

#include "core/base/hash.h"
#include "tests/support/folder.h"

static char target[512];

static inline int make_target(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    (void)snprintf(target, sizeof target, "%s/data", folder);
    return 0;
}

/* A hash over names and contents of all files below the target but hidden ones, which n_hidden
 * counts. */
static uint64_t tree_hash;
static unsigned n_hidden, n_regular;

static inline int hash_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)flag;
    if (!S_ISREG(st->st_mode))
        return 0;
    if (path[ftw->base] == '.') {
        n_hidden++;
        return 0;
    }
    n_regular++;
    size_t n;
    uint8_t *data = folder_read(path + strlen(folder) + 1, &n);
    const char *name = path + strlen(target);
    tree_hash += dlb_hash64(data, n, dlb_hash64(name, strlen(name), 0)); /* order-free */
    free(data);
    return 0;
}

static inline uint64_t hash_tree(void)
{
    tree_hash = n_hidden = n_regular = 0;
    assert_int_equal(nftw(target, hash_one, 16, FTW_PHYS), 0);
    return tree_hash;
}

#endif
