/* The version-1 B-tree of chunks, read level by level. Every node is read once, so that the time
 * grows with the number of chunks and no faster. */
#include "formats/hdf5/btree.h"

#include "core/base/little.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_HEAD_BYTES = 8, /* "TREE", type, level, entries; then both neighbours' addresses */
    USUAL_ENTRIES = 64,  /* twice libhdf5's default K: most nodes are read by one call */
};

struct tree {
    const struct dlb_hdf5_bytes *file;
    const struct dlb_hdf5_about *about;
    struct dlb_hdf5_chunk *table;
    uint64_t n_grid;
    uint64_t stride[DLB_HDF5_MAX_RANK]; /* of the grid of chunks, in chunks */
    uint64_t chunk_bytes;
    uint32_t key_bytes;
    uint8_t *node;
    size_t cap_bytes;
    uint64_t n_nodes_left; /* how many more the file can hold: ends a cycle */
};

struct addresses {
    uint64_t *at;
    size_t n, cap;
};

static int damaged(const struct tree *tree, uint64_t at, const char *what, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_HDF5_INDEX_DAMAGED, tree->file->path, at,
                    "chunk B-tree: %s: the file is damaged", what);
}

static int push(const struct tree *tree, struct addresses *all, uint64_t at, struct dlb_err *err)
{
    if (all->n == all->cap) {
        size_t cap = all->cap ? all->cap * 2 : 256;
        uint64_t *grown = realloc(all->at, cap * sizeof *grown);
        if (!grown)
            return dlb_fail_memory(err, tree->file->path, cap * sizeof *grown);
        all->at = grown;
        all->cap = cap;
    }
    all->at[all->n++] = at;
    return DLB_OK;
}

/* Reads the node at `at`. At least n_bytes of it are in tree->node then; *n_have says how many. */
static int fetch(struct tree *tree, uint64_t at, size_t n_bytes, size_t *n_have,
                 struct dlb_err *err)
{
    const struct dlb_hdf5_bytes *file = tree->file;

    if (at >= file->file_bytes || n_bytes > file->file_bytes - at)
        return damaged(tree, at, "a node beyond the end of the file", err);
    if (tree->cap_bytes < n_bytes) {
        uint8_t *grown = realloc(tree->node, n_bytes);
        if (!grown)
            return dlb_fail_memory(err, tree->file->path, n_bytes);
        tree->node = grown;
        tree->cap_bytes = n_bytes;
    }
    int rc =
        file->io->pread(file->handle, tree->node, tree->cap_bytes, at, n_have, file->path, err);
    if (rc == DLB_OK && *n_have < n_bytes)
        rc = damaged(tree, at, "a node beyond the end of the file", err);
    return rc;
}

/* An entry of a leaf: its key says which chunk, how long, and which filters were not applied. */
static int add_chunk(struct tree *tree, const uint8_t *key, uint64_t at, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = tree->about;
    uint64_t number = 0, file_bytes = tree->file->file_bytes;
    uint32_t n_bytes = (uint32_t)dlb_little_get(key, 4);
    uint32_t mask = (uint32_t)dlb_little_get(key + 4, 4);
    uint64_t child = dlb_little_get(key + tree->key_bytes, tree->file->n_offset);

    for (uint32_t i = 0; i < about->rank; i++) {
        uint64_t first = dlb_little_get(key + 8 + (size_t)8 * i, 8);
        if (first % about->chunk[i] != 0)
            return damaged(tree, at, "a chunk that does not begin on the grid of chunks", err);
        if (first >= about->dims[i])
            return DLB_OK; /* left from when the data set was larger */
        number += first / about->chunk[i] * tree->stride[i];
    }
    if (number >= tree->n_grid)
        DLB_BUG("a chunk beyond the grid of chunks");
    if (child >= file_bytes || tree->file->base > file_bytes - child ||
        n_bytes > file_bytes - child - tree->file->base)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, tree->file->path, at,
                        "chunk %" PRIu64 ": %" PRIu32 " bytes at %" PRIu64
                        " lie beyond the end of the file: it was cut short, or is damaged",
                        number, n_bytes, child);
    if (n_bytes == 0 || (about->n_filters == 0 && n_bytes != tree->chunk_bytes))
        return damaged(tree, at, "a chunk of the wrong size", err);
    if (tree->table[number].n_bytes)
        return damaged(tree, at, "a chunk that is listed twice", err);
    tree->table[number] = (struct dlb_hdf5_chunk){child + tree->file->base, n_bytes, mask};
    return DLB_OK;
}

/* A child of an inner node, to be read with the next level. */
static int add_child(const struct tree *tree, const uint8_t *key, uint64_t at,
                     struct addresses *below, struct dlb_err *err)
{
    uint64_t child = dlb_little_get(key + tree->key_bytes, tree->file->n_offset);

    if (child >= tree->file->file_bytes)
        return damaged(tree, at, "a node beyond the end of the file", err);
    return push(tree, below, child + tree->file->base, err);
}

/* Keys and children alternate. A node has one key more than it has children. */
static int read_node(struct tree *tree, uint64_t at, uint32_t level, struct addresses *below,
                     struct dlb_err *err)
{
    size_t n_head = NODE_HEAD_BYTES + 2 * (size_t)tree->file->n_offset;
    size_t entry_bytes = tree->key_bytes + tree->file->n_offset, n_have = 0;
    int rc = DLB_OK;

    if (tree->n_nodes_left-- == 0)
        return damaged(tree, at, "more nodes than the file can hold", err);
    rc = fetch(tree, at, n_head, &n_have, err);
    if (rc != DLB_OK)
        return rc;
    uint32_t n = (uint32_t)dlb_little_get(tree->node + 6, 2);
    if (memcmp(tree->node, "TREE", 4) != 0 || tree->node[4] != 1)
        return damaged(tree, at, "there is no node where one should be", err);
    if (tree->node[5] != level)
        return damaged(tree, at, "a node of the wrong level", err);
    if (n_have < n_head + n * entry_bytes)
        rc = fetch(tree, at, n_head + n * entry_bytes, &n_have, err);
    const uint8_t *key = tree->node + n_head;
    for (uint32_t i = 0; rc == DLB_OK && i < n; i++, key += entry_bytes)
        rc = level == 0 ? add_chunk(tree, key, at, err) : add_child(tree, key, at, below, err);
    return rc;
}

static int prepare(struct tree *tree, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = tree->about;
    uint64_t n = 1;

    tree->chunk_bytes = about->element_bytes;
    for (uint32_t i = about->rank; i-- > 0;) {
        tree->stride[i] = n;
        n *= dlb_hdf5_grid(about, i);
        tree->chunk_bytes *= about->chunk[i];
    }
    if (n != tree->n_grid)
        DLB_BUG("the table's size differs from the grid of chunks");
    /* Size and mask, then an offset for each dimension and one within an element, always 0. */
    tree->key_bytes = 8 + 8 * (about->rank + 1);
    tree->cap_bytes = NODE_HEAD_BYTES + 2 * (size_t)tree->file->n_offset +
                      USUAL_ENTRIES * (size_t)(tree->key_bytes + tree->file->n_offset);
    tree->node = malloc(tree->cap_bytes);
    tree->n_nodes_left = tree->file->file_bytes / (NODE_HEAD_BYTES + 2 * tree->file->n_offset);
    return tree->node ? DLB_OK : dlb_fail_memory(err, tree->file->path, tree->cap_bytes);
}

int dlb_hdf5_btree_read(const struct dlb_hdf5_bytes *file, uint64_t root,
                        const struct dlb_hdf5_about *about, struct dlb_hdf5_chunk *table,
                        uint64_t n_grid, struct dlb_err *err)
{
    struct tree tree = {.file = file, .about = about, .table = table, .n_grid = n_grid};
    struct addresses here = {0}, below = {0};
    size_t n_have = 0;
    uint32_t level = 0;
    int rc = prepare(&tree, err);

    if (rc == DLB_OK)
        rc = fetch(&tree, root, NODE_HEAD_BYTES, &n_have, err);
    if (rc == DLB_OK) {
        level = tree.node[5];
        rc = push(&tree, &here, root, err);
    }
    while (rc == DLB_OK && here.n > 0) {
        for (size_t i = 0; rc == DLB_OK && i < here.n; i++)
            rc = read_node(&tree, here.at[i], level, &below, err);
        struct addresses swap = here;
        here = below;
        below = swap;
        below.n = 0;
        level--;
    }
    free(here.at);
    free(below.at);
    free(tree.node);
    return rc;
}
