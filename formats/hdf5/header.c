/* Superblock and object header, up to the data set's layout message. */
#include "formats/hdf5/btree.h"

#include "core/base/little.h"

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

/* The offset in the file of a stored address. DLB_NO_OFFSET when it is undefined (all bits set) or
 * lies beyond the file. */
static uint64_t address(const struct dlb_hdf5_bytes *file, const uint8_t *at)
{
    uint64_t value = dlb_little_get(at, file->n_offset);
    uint64_t undefined = file->n_offset == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * file->n_offset) - 1;

    return value == undefined || value >= file->file_bytes ? DLB_NO_OFFSET : value + file->base;
}

static int cut_short(const struct dlb_hdf5_bytes *file, uint64_t at, const char *what,
                     struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, file->path, at,
                    "%s lies beyond the file's %" PRIu64 " bytes: it was cut short, or is damaged",
                    what, file->file_bytes);
}

static int read_exactly(const struct dlb_hdf5_bytes *file, uint64_t at, size_t n_bytes,
                        uint8_t *dst, const char *what, struct dlb_err *err)
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
            return dlb_fail(err, DLB_ERR_FILE_VERSION_UNKNOWN, file->path, at + 8,
                            "superblock of version %u: 0 to 3 are known", version);
        file->base = at;
        file->n_offset = block[version < 2 ? 13 : 9];
        file->n_length = block[version < 2 ? 14 : 10];
        if ((file->n_offset != 2 && file->n_offset != 4 && file->n_offset != 8) ||
            (file->n_length != 2 && file->n_length != 4 && file->n_length != 8))
            return dlb_fail(err, DLB_ERR_HDF5_HEADER_DAMAGED, file->path, at + 9,
                            "superblock with addresses of %u and lengths of %u bytes: damaged",
                            file->n_offset, file->n_length);
        return DLB_OK;
    }
    return dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, file->path, 0,
                    file->file_bytes ? "not an HDF5 file: it has no HDF5 signature"
                                     : "not an HDF5 file: it is empty");
}

static int damaged(const struct dlb_hdf5_bytes *file, uint64_t at, const char *what,
                   struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_HDF5_HEADER_DAMAGED, file->path, at, "%s: the file is damaged",
                    what);
}

/* The rank and the dimensions of a chunk, from `at` on: n_dims numbers of 4 bytes, one more than
 * the data set has. The last one is the bytes of an element. */
static void take_chunk_dims(const uint8_t *at, uint32_t n_dims, struct dlb_hdf5_layout_message *out)
{
    out->layout = DLB_HDF5_CHUNKED;
    out->rank = n_dims - 1;
    for (uint32_t i = 0; i < out->rank; i++)
        out->chunk[i] = dlb_little_get(at + (size_t)4 * i, 4);
    out->element_bytes = (uint32_t)dlb_little_get(at + (size_t)4 * out->rank, 4);
}

enum { CLASS_COMPACT, CLASS_CONTIGUOUS, CLASS_CHUNKED };

/* Version 3, since HDF5 1.6.3. */
static int layout_3(const struct dlb_hdf5_bytes *file, const uint8_t *m, size_t n, uint64_t at,
                    struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    uint32_t n_offset = file->n_offset, n_length = file->n_length;

    if (m[1] == CLASS_COMPACT && n >= 4) {
        *out = (struct dlb_hdf5_layout_message){.layout = DLB_HDF5_COMPACT,
                                                .known = true,
                                                .at = at + 4,
                                                .n_data = dlb_little_get(m + 2, 2)};
        return out->n_data <= n - 4 ? DLB_OK
                                    : damaged(file, at, "compact data beyond their message", err);
    }
    if (m[1] == CLASS_CONTIGUOUS && n >= 2 + n_offset + n_length) {
        *out =
            (struct dlb_hdf5_layout_message){.layout = DLB_HDF5_CONTIGUOUS,
                                             .known = true,
                                             .at = address(file, m + 2),
                                             .n_data = dlb_little_get(m + 2 + n_offset, n_length)};
        return DLB_OK;
    }
    if (m[1] != CLASS_CHUNKED || n < 3)
        return damaged(file, at, "a layout message of no known class", err);
    uint32_t n_dims = m[2];
    if (n_dims < 2 || n_dims > DLB_HDF5_MAX_RANK + 1 || n < 3 + n_offset + 4 * (size_t)n_dims)
        return damaged(file, at, "a layout message of chunks that does not fit", err);
    *out = (struct dlb_hdf5_layout_message){.known = true, .at = address(file, m + 3)};
    take_chunk_dims(m + 3 + n_offset, n_dims, out);
    return DLB_OK;
}

/* Versions 1 and 2: HDF5 before 1.6.3. The class's address comes first (compact data have none),
 * then the dimensions, then the size of compact data and these. */
static int layout_1(const struct dlb_hdf5_bytes *file, const uint8_t *m, size_t n, uint64_t at,
                    struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    uint32_t n_dims = n >= 8 ? m[1] : 0, class = m[2];
    size_t dims_at = 8 + (class == CLASS_COMPACT ? 0 : (size_t)file->n_offset);
    size_t dims_end = dims_at + 4 * (size_t)n_dims;

    if (n_dims < 1 || n_dims > DLB_HDF5_MAX_RANK + 1 || class > CLASS_CHUNKED || n < dims_end ||
        (class == CLASS_COMPACT && n < dims_end + 4))
        return damaged(file, at, "a layout message that does not fit", err);
    *out = (struct dlb_hdf5_layout_message){.known = true};
    if (class == CLASS_COMPACT) {
        out->layout = DLB_HDF5_COMPACT;
        out->at = at + dims_end + 4;
        out->n_data = dlb_little_get(m + dims_end, 4);
        return out->n_data <= n - (dims_end + 4)
                   ? DLB_OK
                   : damaged(file, at, "compact data beyond their message", err);
    }
    out->at = address(file, m + 8);
    if (class == CLASS_CONTIGUOUS) {
        out->layout = DLB_HDF5_CONTIGUOUS;
        out->known = false; /* it does not say its length: libhdf5 works it out */
        return DLB_OK;
    }
    if (n_dims < 2)
        return damaged(file, at, "a layout message of chunks that does not fit", err);
    take_chunk_dims(m + dims_at, n_dims, out);
    return DLB_OK;
}

static int layout(const struct dlb_hdf5_bytes *file, const uint8_t *m, size_t n, uint64_t at,
                  struct dlb_hdf5_layout_message *out, struct dlb_err *err)
{
    if (n < 3)
        return damaged(file, at, "a layout message that is too short", err);
    if (m[0] == 1 || m[0] == 2)
        return layout_1(file, m, n, at, out, err);
    /* Version 4 (1.10) and later: compact and contiguous as before, other indexes of chunks. */
    if (m[0] == 3 || (m[0] == 4 && m[1] <= CLASS_CONTIGUOUS))
        return layout_3(file, m, n, at, out, err);
    *out = (struct dlb_hdf5_layout_message){.layout = m[1] == CLASS_CHUNKED ? DLB_HDF5_CHUNKED
                                                                            : DLB_HDF5_ELSEWHERE,
                                            .at = DLB_NO_OFFSET};
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
        return damaged(file, at, "an object header with too many continuations", err);
    blocks->at[blocks->n] = address(file, m);
    blocks->n_bytes[blocks->n] = dlb_little_get(m + file->n_offset, file->n_length);
    if (blocks->at[blocks->n] == DLB_NO_OFFSET || blocks->n_bytes[blocks->n] > MAX_BLOCK_BYTES)
        return damaged(file, at, "an object header that continues outside of the file", err);
    blocks->n++;
    return DLB_OK;
}

/* How messages lie in a header of this version. */
struct messages {
    uint32_t version;
    uint32_t n_head;            /* bytes before each message's data */
    uint32_t n_before, n_after; /* a continuation's signature and checksum */
};

struct message {
    uint32_t type;
    size_t n; /* bytes of data */
};

static struct message message_at(const struct messages *how, const uint8_t *at)
{
    if (how->version == 1)
        return (struct message){(uint32_t)dlb_little_get(at, 2), (size_t)dlb_little_get(at + 2, 2)};
    return (struct message){at[0], (size_t)dlb_little_get(at + 1, 2)};
}

/* DLB_END when it has found the layout. */
static int read_block(const struct dlb_hdf5_bytes *file, const struct messages *how,
                      struct blocks *blocks, uint32_t which, struct dlb_hdf5_layout_message *out,
                      struct dlb_err *err)
{
    uint64_t at = blocks->at[which];
    size_t n_block = (size_t)blocks->n_bytes[which], n_head = how->n_head;
    uint8_t *block = malloc(n_block + 1);
    int rc = block ? read_exactly(file, at, n_block, block, "an object header", err)
                   : dlb_fail_memory(err, file->path, n_block + 1);

    for (size_t i = 0; rc == DLB_OK && n_block - i >= n_head;) {
        struct message message = message_at(how, block + i);
        const uint8_t *data = block + i + n_head;
        if (message.n > n_block - i - n_head)
            rc = damaged(file, at + i, "a message that is longer than its header", err);
        else if (message.type == MESSAGE_CONTINUATION)
            rc = add_block(file, blocks, data, message.n, at + i, err);
        else if (message.type == MESSAGE_LAYOUT)
            rc = layout(file, data, message.n, at + i + n_head, out, err);
        if (rc == DLB_OK && message.type == MESSAGE_LAYOUT)
            rc = DLB_END;
        i += n_head + message.n;
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
        blocks->n_bytes[0] = dlb_little_get(head + n, n_size);
    } else if (head[0] == 1) {
        *how = (struct messages){.version = 1, .n_head = 8};
        blocks->at[0] = at + 16; /* 12 bytes, and 4 that align the first message */
        blocks->n_bytes[0] = dlb_little_get(head + 8, 4);
    } else {
        return damaged(file, at, "there is no object header where one should be", err);
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
        return dlb_fail_memory(err, file->path, sizeof *blocks);
    int rc = first_block(file, at, &how, blocks, err);
    for (uint32_t i = 0; rc == DLB_OK && i < blocks->n; i++) {
        if (i > 0 && blocks->n_bytes[i] < how.n_before + how.n_after)
            rc = damaged(file, blocks->at[i], "an object header that is cut short", err);
        if (i > 0 && rc == DLB_OK) { /* without its signature and checksum */
            blocks->at[i] += how.n_before;
            blocks->n_bytes[i] -= how.n_before + how.n_after;
        }
        if (rc == DLB_OK)
            rc = read_block(file, &how, blocks, i, out, err);
    }
    free(blocks);
    if (rc == DLB_OK)
        return damaged(file, at, "an object header without a layout message", err);
    return rc == DLB_END ? DLB_OK : rc;
}
