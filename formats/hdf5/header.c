/* Superblock and object header: the way to a data set's layout message. */
#include "formats/hdf5/btree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BLOCK_BYTES = 16 << 20, /* of an object header: its messages hold up to 64 KiB each */
    MAX_BLOCKS = 1024,
    MAX_SUPERBLOCK_BYTES = 128,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_CONTINUATION = 0x10,
};

static uint64_t number(const uint8_t *at, uint32_t n_bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* An address as stored; all ones: undefined. In the file, or DLB_NO_OFFSET, too when it is absurd.
 */
static uint64_t address(const struct dlb_hdf5_bytes *file, const uint8_t *at)
{
    uint64_t value = number(at, file->n_offset);
    uint64_t undefined = file->n_offset == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * file->n_offset) - 1;

    return value == undefined || value >= file->file_bytes ? DLB_NO_OFFSET : value + file->base;
}

static int cut_short(const struct dlb_hdf5_bytes *file, uint64_t at, const char *what,
                     struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FORMAT, file->path, at,
                    "%s does not fit into the file's %" PRIu64 " bytes: cut short, or damaged",
                    what, file->file_bytes);
}

static int get(const struct dlb_hdf5_bytes *file, uint64_t at, size_t n_bytes, uint8_t *dst,
               const char *what, struct dlb_err *err)
{
    size_t n_read = 0;

    if (at > file->file_bytes || n_bytes > file->file_bytes - at)
        return cut_short(file, at, what, err);
    int rc = file->io->pread(file->handle, dst, n_bytes, at, &n_read, file->path, err);
    return rc == DLB_OK && n_read < n_bytes ? cut_short(file, at, what, err) : rc;
}

int dlb_hdf5_superblock(struct dlb_hdf5_bytes *file, struct dlb_err *err)
{
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    uint8_t block[MAX_SUPERBLOCK_BYTES];
    size_t n_read = 0;

    for (uint64_t at = 0; at < file->file_bytes; at = at ? at * 2 : 512) {
        int rc = file->io->pread(file->handle, block, sizeof block, at, &n_read, file->path, err);
        if (rc != DLB_OK)
            return rc;
        if (n_read < 16 || memcmp(block, signature, sizeof signature) != 0)
            continue;
        uint8_t version = block[8];
        if (version > 3)
            return dlb_fail(err, DLB_ERR_FORMAT, file->path, at + 8,
                            "superblock of version %u: 0 to 3 are known", version);
        file->base = at;
        file->n_offset = block[version < 2 ? 13 : 9];
        file->n_length = block[version < 2 ? 14 : 10];
        if ((file->n_offset != 2 && file->n_offset != 4 && file->n_offset != 8) ||
            (file->n_length != 2 && file->n_length != 4 && file->n_length != 8))
            return dlb_fail(err, DLB_ERR_FORMAT, file->path, at + 9,
                            "superblock with addresses of %u and lengths of %u bytes: damaged",
                            file->n_offset, file->n_length);
        return DLB_OK;
    }
    return dlb_fail(err, DLB_ERR_FORMAT, file->path, 0,
                    file->file_bytes ? "no HDF5 file: its signature is nowhere"
                                     : "no HDF5 file: it is empty");
}

static int damaged(const struct dlb_hdf5_bytes *file, uint64_t at, const char *what,
                   struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FORMAT, file->path, at, "%s: the file is damaged", what);
}

/* Version 3, since HDF5 1.6.3. */
static int layout_3(const struct dlb_hdf5_bytes *file, const uint8_t *m, size_t n, uint64_t at,
                    struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    uint32_t o = file->n_offset;

    if (m[1] == 0 && n >= 4) {
        *out = (struct dlb_hdf5_layout_message){
            .layout = DLB_HDF5_COMPACT, .known = true, .at = at + 4, .n_data = number(m + 2, 2)};
        return out->n_data <= n - 4 ? DLB_OK : damaged(file, at, "compact data beyond it", err);
    }
    if (m[1] == 1 && n >= 2 + o + file->n_length) {
        *out = (struct dlb_hdf5_layout_message){.layout = DLB_HDF5_CONTIGUOUS,
                                                .known = true,
                                                .at = address(file, m + 2),
                                                .n_data = number(m + 2 + o, file->n_length)};
        return DLB_OK;
    }
    if (m[1] != 2 || n < 3)
        return damaged(file, at, "a layout message of no known class", err);
    /* One dimension more than the data set has: the element's bytes. */
    uint32_t n_dims = m[2];
    if (n_dims < 2 || n_dims > DLB_HDF5_MAX_RANK + 1 || n < 3 + o + 4 * (size_t)n_dims)
        return damaged(file, at, "a layout message of chunks that does not fit", err);
    *out = (struct dlb_hdf5_layout_message){.layout = DLB_HDF5_CHUNKED,
                                            .known = true,
                                            .at = address(file, m + 3),
                                            .rank = n_dims - 1,
                                            .element_bytes =
                                                (uint32_t)number(m + 3 + o + 4 * (n_dims - 1), 4)};
    for (uint32_t i = 0; i < out->rank; i++)
        out->chunk[i] = number(m + 3 + o + 4 * i, 4);
    return DLB_OK;
}

/* Versions 1 and 2: HDF5 before 1.6.3. */
static int layout_1(const struct dlb_hdf5_bytes *file, const uint8_t *m, size_t n, uint64_t at,
                    struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    uint32_t n_dims = n >= 8 ? m[1] : 0, o = m[2] == 0 ? 0 : file->n_offset;
    size_t dims_at = 8 + (size_t)o;

    if (n_dims < 1 || n_dims > DLB_HDF5_MAX_RANK + 1 || m[2] > 2 || n < dims_at + 4 * n_dims ||
        (m[2] == 0 && n < dims_at + 4 * n_dims + 4))
        return damaged(file, at, "a layout message that does not fit", err);
    *out = (struct dlb_hdf5_layout_message){
        .known = true, .at = o ? address(file, m + 8) : at + dims_at + 4 * n_dims + 4};
    if (m[2] == 0) {
        out->layout = DLB_HDF5_COMPACT;
        out->n_data = number(m + dims_at + 4 * n_dims, 4);
        if (out->n_data > n - (dims_at + 4 * n_dims + 4))
            return damaged(file, at, "compact data beyond it", err);
    } else if (m[2] == 1) {
        out->layout = DLB_HDF5_CONTIGUOUS;
        out->known = false; /* its dimensions say how long it is: the library knows */
    } else if (n_dims < 2) {
        return damaged(file, at, "a layout message of chunks that does not fit", err);
    } else {
        out->layout = DLB_HDF5_CHUNKED;
        out->rank = n_dims - 1;
        out->element_bytes = (uint32_t)number(m + dims_at + 4 * (n_dims - 1), 4);
        for (uint32_t i = 0; i < out->rank; i++)
            out->chunk[i] = number(m + dims_at + 4 * i, 4);
    }
    return DLB_OK;
}

static int layout(const struct dlb_hdf5_bytes *file, const uint8_t *m, size_t n, uint64_t at,
                  struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    if (n < 3)
        return damaged(file, at, "a layout message that is too short", err);
    if (m[0] == 1 || m[0] == 2)
        return layout_1(file, m, n, at, out, err);
    if (m[0] == 3)
        return layout_3(file, m, n, at, out, err);
    /* Version 4 (1.10) and later: compact and contiguous as before, other indexes for chunks. */
    if (m[0] == 4 && m[1] <= 1)
        return layout_3(file, m, n, at, out, err);
    *out = (struct dlb_hdf5_layout_message){
        .layout = m[1] == 2 ? DLB_HDF5_CHUNKED : DLB_HDF5_ELSEWHERE, .at = DLB_NO_OFFSET};
    return DLB_OK;
}

/* Blocks of an object header that are still to be read. */
struct blocks {
    uint64_t at[MAX_BLOCKS];
    uint64_t n_bytes[MAX_BLOCKS];
    uint32_t n;
};

static int add_block(const struct dlb_hdf5_bytes *file, struct blocks *blocks, const uint8_t *m,
                     size_t n, uint64_t at, struct dlb_err *err)
{
    if (n < file->n_offset + file->n_length || blocks->n == MAX_BLOCKS)
        return damaged(file, at, "an object header that goes on without end", err);
    blocks->at[blocks->n] = address(file, m);
    blocks->n_bytes[blocks->n] = number(m + file->n_offset, file->n_length);
    if (blocks->at[blocks->n] == DLB_NO_OFFSET || blocks->n_bytes[blocks->n] > MAX_BLOCK_BYTES)
        return damaged(file, at, "an object header that goes on outside of it", err);
    blocks->n++;
    return DLB_OK;
}

/* What the header's version says of its messages. */
struct messages {
    uint32_t version;
    uint32_t n_head;            /* bytes before each one's data */
    uint32_t n_before, n_after; /* bytes of a continuation that are none */
};

/* DLB_END: the layout was found. */
static int read_block(const struct dlb_hdf5_bytes *file, const struct messages *how,
                      struct blocks *blocks, uint32_t which, struct dlb_hdf5_layout_message *out,
                      struct dlb_err *err)
{
    uint64_t at = blocks->at[which];
    size_t n_block = (size_t)blocks->n_bytes[which], n_head = how->n_head;
    uint8_t *block = malloc(n_block + 1);
    int rc = block ? get(file, at, n_block, block, "an object header", err)
                   : dlb_fail(err, DLB_ERR_NOMEM, file->path, at, "no memory for an object header");

    for (size_t i = 0; rc == DLB_OK && n_block - i >= n_head;) {
        uint32_t type = how->version == 1 ? (uint32_t)number(block + i, 2) : block[i];
        size_t n = (size_t)number(block + i + (how->version == 1 ? 2 : 1), 2);
        const uint8_t *m = block + i + n_head;
        if (n > n_block - i - n_head)
            rc = damaged(file, at + i, "a message that is longer than its header", err);
        else if (type == MESSAGE_CONTINUATION)
            rc = add_block(file, blocks, m, n, at + i, err);
        else if (type == MESSAGE_LAYOUT)
            rc = layout(file, m, n, at + i + n_head, out, err);
        if (rc == DLB_OK && type == MESSAGE_LAYOUT)
            rc = DLB_END;
        i += n_head + n;
    }
    free(block);
    return rc;
}

static int first_block(const struct dlb_hdf5_bytes *file, uint64_t at, struct messages *how,
                       struct blocks *blocks, struct dlb_err *err)
{
    uint8_t head[64] = {0};
    size_t n_have = 0;

    if (at >= file->file_bytes)
        return cut_short(file, at, "an object header", err);
    int rc = file->io->pread(file->handle, head, sizeof head, at, &n_have, file->path, err);
    if (rc != DLB_OK)
        return rc;
    blocks->n = 1;
    if (memcmp(head, "OHDR", 4) == 0 && head[4] == 2) {
        uint8_t flags = head[5];
        uint32_t n = 6 + (flags & 0x20 ? 16u : 0u) + (flags & 0x10 ? 4u : 0u),
                 n_size = 1u << (flags & 3);
        *how = (struct messages){
            .version = 2, .n_head = flags & 4 ? 6 : 4, .n_before = 4, .n_after = 4};
        blocks->at[0] = at + n + n_size;
        blocks->n_bytes[0] = number(head + n, n_size);
    } else if (head[0] == 1) {
        *how = (struct messages){.version = 1, .n_head = 8};
        blocks->at[0] = at + 16; /* 12 bytes, and 4 that align the first message */
        blocks->n_bytes[0] = number(head + 8, 4);
    } else {
        return damaged(file, at, "no object header where one should be", err);
    }
    return blocks->n_bytes[0] <= MAX_BLOCK_BYTES
               ? DLB_OK
               : damaged(file, at, "an object header of absurd size", err);
}

int dlb_hdf5_layout_read(const struct dlb_hdf5_bytes *file, uint64_t header_at,
                         struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    struct blocks *blocks = malloc(sizeof *blocks);
    struct messages how = {.version = 0};
    uint64_t at = header_at < file->file_bytes ? header_at + file->base : DLB_NO_OFFSET;

    *out = (struct dlb_hdf5_layout_message){.at = DLB_NO_OFFSET};
    if (!blocks)
        return dlb_fail(err, DLB_ERR_NOMEM, file->path, at, "no memory for an object header");
    int rc = first_block(file, at, &how, blocks, err);
    for (uint32_t i = 0; rc == DLB_OK && i < blocks->n; i++) {
        if (i > 0 && blocks->n_bytes[i] < how.n_before + how.n_after)
            rc = damaged(file, blocks->at[i], "an object header that is cut short", err);
        if (i > 0 && rc == DLB_OK) { /* its own signature and checksum */
            blocks->at[i] += how.n_before;
            blocks->n_bytes[i] -= how.n_before + how.n_after;
        }
        if (rc == DLB_OK)
            rc = read_block(file, &how, blocks, i, out, err);
    }
    free(blocks);
    if (rc == DLB_OK)
        return damaged(file, at, "an object header without a layout: no data set", err);
    return rc == DLB_END ? DLB_OK : rc;
}
