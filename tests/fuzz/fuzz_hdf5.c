/* HDF5 without the library. The first byte says what: 0, superblock, object header, and the chunk
 * B-tree that it leads to, all in a file of the bytes that follow; 1, a chunk B-tree alone; 2, a
 * chunk's filters undone. No input may crash, leak, or point outside of the file. */
#include "formats/hdf5/btree.h"
#include "formats/hdf5/filters.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GRID = 4096, MAX_DST = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const uint8_t *memory; /* what the only handle reads */
static size_t n_memory;

static int read_memory(int64_t handle, void *dst, size_t n_bytes, uint64_t offset_bytes,
                       size_t *n_read, const char *path, struct dlb_err *err)
{
    (void)handle, (void)path, (void)err;
    size_t left = offset_bytes < n_memory ? n_memory - (size_t)offset_bytes : 0;
    *n_read = n_bytes < left ? n_bytes : left;
    if (*n_read)
        memcpy(dst, memory + offset_bytes, *n_read);
    return DLB_OK;
}

static const struct dlb_io io = {.name = "memory", .pread = read_memory};

static void check_err(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && (rc != (int)err->status || err->what[0] == '\0'))
        DLB_BUG("an error without words");
}

static void tree(const struct dlb_hdf5_bytes *file, uint64_t root,
                 const struct dlb_hdf5_about *about)
{
    struct dlb_err err = {.status = DLB_OK};
    uint64_t n_grid = 1;

    for (uint32_t i = 0; i < about->rank; i++)
        n_grid *= dlb_hdf5_grid(about, i);
    if (n_grid > MAX_GRID)
        return;
    struct dlb_hdf5_chunk *table = calloc(n_grid + 1, sizeof *table);
    if (!table)
        return;
    int rc = dlb_hdf5_btree_read(file, root, about, table, n_grid, &err);
    check_err(rc, &err);
    for (uint64_t i = 0; i < n_grid; i++)
        if (table[i].n_bytes && (table[i].at_bytes > file->file_bytes ||
                                 table[i].n_bytes > file->file_bytes - table[i].at_bytes))
            DLB_BUG("a chunk beyond the file");
    if (table[n_grid].n_bytes)
        DLB_BUG("a chunk beyond the grid");
    free(table);
}

static void whole(const uint8_t *data, size_t n_bytes)
{
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_hdf5_layout_message found;
    struct dlb_hdf5_about about = {.n_filters = 1};

    if (n_bytes < 3)
        return;
    uint64_t header_at = data[0] | (uint64_t)data[1] << 8, n_across = 1 + data[2] % 32;
    memory = data + 3;
    n_memory = n_bytes - 3;
    struct dlb_hdf5_bytes file = {.io = &io, .path = "fuzz.h5", .file_bytes = n_memory};
    int rc = dlb_hdf5_superblock(&file, &err);
    check_err(rc, &err);
    if (rc != DLB_OK)
        return;
    rc = dlb_hdf5_layout_read(&file, header_at, &found, &err);
    check_err(rc, &err);
    if (rc != DLB_OK || !found.known)
        return;
    if (found.layout == DLB_HDF5_COMPACT &&
        (found.at > n_memory || found.n_data > n_memory - found.at))
        DLB_BUG("compact data beyond the file");
    if (found.layout != DLB_HDF5_CHUNKED || found.at == DLB_NO_OFFSET || found.rank > 4 ||
        found.element_bytes == 0)
        return;
    about.rank = found.rank;
    about.element_bytes = found.element_bytes;
    for (uint32_t i = 0; i < found.rank; i++) {
        if (found.chunk[i] == 0)
            return;
        about.chunk[i] = found.chunk[i];
        about.dims[i] = i < 2 ? found.chunk[i] * n_across : found.chunk[i];
    }
    tree(&file, found.at, &about);
}

static void tree_alone(const uint8_t *data, size_t n_bytes)
{
    static const uint32_t widths[] = {8, 4, 2, 8};
    struct dlb_hdf5_about about = {.element_bytes = 2};

    if (n_bytes < 4)
        return;
    about.rank = 1 + data[0] % 3;
    about.n_filters = data[0] >> 2 & 1;
    for (uint32_t i = 0; i < about.rank; i++) {
        about.chunk[i] = 1 + data[1] % 8;
        about.dims[i] = 1 + data[2] % 64;
    }
    struct dlb_hdf5_bytes file = {.io = &io,
                                  .path = "fuzz.h5",
                                  .base = data[0] >> 3 & 1,
                                  .n_offset = widths[data[0] >> 4 & 3],
                                  .n_length = 8};
    memory = data + 4;
    n_memory = n_bytes - 4;
    file.file_bytes = n_memory;
    tree(&file, data[3], &about);
}

static void unfilter(const uint8_t *data, size_t n_bytes)
{
    static const uint32_t ids[] = {DLB_HDF5_DEFLATE, DLB_HDF5_SHUFFLE, DLB_HDF5_FLETCHER32,
                                   DLB_HDF5_LZF};
    static const uint32_t sizes[] = {1, 2, 3, 4, 8, 0, 300, UINT32_MAX};
    static struct dlb_hdf5_unfilter state; /* reused, as by a worker */
    struct dlb_hdf5_filter filter[4];
    struct dlb_err err = {.status = DLB_OK};
    char name[64];

    if (n_bytes < 5)
        return;
    uint32_t n = data[0] % 5;
    for (uint32_t i = 0; i < n; i++)
        filter[i] = (struct dlb_hdf5_filter){ids[data[1] >> (2 * i) & 3], sizes[data[4] % 8]};
    uint32_t mask = data[0] >> 4;
    size_t n_dst = (data[2] | (size_t)data[3] << 8) % MAX_DST;
    if (dlb_hdf5_filters_unknown(filter, n, name, sizeof name))
        return; /* in a build without zlib or liblzf */
    /* Exactly as large as they are: what reads or writes beyond is seen. */
    size_t n_src = n_bytes - 5;
    uint8_t *src = malloc(n_src + !n_src), *dst = malloc(n_dst + !n_dst);
    if (src && dst) {
        memcpy(src, data + 5, n_src);
        int rc = dlb_hdf5_unfilter(&state, filter, n, mask, src, n_src, dst, n_dst, &err);
        check_err(rc, &err);
    }
    free(src);
    free(dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 1)
        return 0;
    if (data[0] % 3 == 0)
        whole(data + 1, n_bytes - 1);
    else if (data[0] % 3 == 1)
        tree_alone(data + 1, n_bytes - 1);
    else
        unfilter(data + 1, n_bytes - 1);
    return 0;
}
