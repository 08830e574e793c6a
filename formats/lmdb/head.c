/* LMDB's meta pages, read without liblmdb: it divides by what they say. */
#include "formats/lmdb/lmdb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* struct MDB_page's head, struct MDB_meta, struct MDB_db (mdb.c, 0.9). */
enum {
    FLAGS_AT = 10, /* in the page's head */
    META_AT = 16,
    META_BYTES = 136,
    FLAG_META = 0x08,
    MIN_PAGE_BYTES = 512,
    MAX_PAGE_BYTES = 0x10000,
    DATA_VERSION = 1,
};
#define MAGIC UINT32_C(0xBEEFC0DE)
#define MAX_MAP_BYTES (UINT64_C(1) << 47) /* what a process can address */

static uint64_t number(const uint8_t *at, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static int parse(const uint8_t *page, uint64_t at, const char *path, struct dlb_lmdb_head *out,
                 struct dlb_err *err)
{
    const uint8_t *meta = page + META_AT;
    uint64_t magic = number(meta, 4), version = number(meta + 4, 4);

    if (!(number(page + FLAGS_AT, 2) & FLAG_META) || magic != MAGIC)
        return dlb_fail(err, DLB_ERR_FORMAT, path, at,
                        "no LMDB file (of a little-endian 64-bit machine): no meta page here");
    if (version != DATA_VERSION)
        return dlb_fail(err, DLB_ERR_FORMAT, path, at + META_AT + 4,
                        "version %" PRIu64 " of LMDB's files; %d is known", version, DATA_VERSION);
    *out = (struct dlb_lmdb_head){.page_bytes = (uint32_t)number(meta + 24, 4),
                                  .map_bytes = number(meta + 16, 8),
                                  .flags = (uint32_t)number(meta + 24 + 48 + 4, 2),
                                  .n_entries = number(meta + 24 + 48 + 32, 8),
                                  .last_page = number(meta + 120, 8),
                                  .txn = number(meta + 128, 8)};
    uint32_t each = out->page_bytes;
    if (each < MIN_PAGE_BYTES || each > MAX_PAGE_BYTES || (each & (each - 1)) != 0)
        return dlb_fail(err, DLB_ERR_FORMAT, path, at + META_AT + 24,
                        "damaged: pages of %u bytes cannot be", each);
    if (out->map_bytes > MAX_MAP_BYTES || out->last_page >= MAX_MAP_BYTES / each)
        return dlb_fail(err, DLB_ERR_FORMAT, path, at + META_AT + 16,
                        "damaged: a map of %" PRIu64 " bytes with %" PRIu64 " pages cannot be",
                        out->map_bytes, out->last_page);
    return DLB_OK;
}

static int read_meta(const struct dlb_io *io, int64_t handle, uint64_t at, const char *path,
                     struct dlb_lmdb_head *out, struct dlb_err *err)
{
    uint8_t page[META_AT + META_BYTES];
    size_t n_read = 0;
    int rc = io->pread(handle, page, sizeof page, at, &n_read, path, err);

    if (rc != DLB_OK)
        return rc;
    if (n_read < sizeof page)
        return dlb_fail(err, DLB_ERR_FORMAT, path, at + n_read,
                        at || n_read ? "cut short within LMDB's meta pages" : "an empty file");
    return parse(page, at, path, out, err);
}

int dlb_lmdb_look(const char *path, const struct dlb_io *io, struct dlb_lmdb_head *out,
                  struct dlb_err *err)
{
    struct dlb_lmdb_head second;
    int64_t handle;
    int rc = io->open(path, &handle, err);

    if (rc != DLB_OK)
        return rc;
    rc = read_meta(io, handle, 0, path, out, err);
    if (rc == DLB_OK)
        rc = read_meta(io, handle, out->page_bytes, path, &second, err);
    if (rc == DLB_OK && second.page_bytes != out->page_bytes)
        rc = dlb_fail(err, DLB_ERR_FORMAT, path, out->page_bytes,
                      "damaged: the two meta pages give pages of %u and %u bytes", out->page_bytes,
                      second.page_bytes);
    if (rc == DLB_OK && second.txn > out->txn)
        *out = second;
    io->close(handle);
    return rc;
}

int dlb_lmdb_path(const char *path, const struct dlb_io *io, char **out, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    int rc = io->stat(path, &kind, &n_bytes, err);

    *out = NULL;
    if (rc != DLB_OK)
        return rc;
    if (asprintf(out, kind == DLB_IO_DIR ? "%s/data.mdb" : "%s", path) < 0) {
        *out = NULL;
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for its name");
    }
    if (kind == DLB_IO_DIR && io->stat(*out, &kind, &n_bytes, err) != DLB_OK) {
        free(*out);
        *out = NULL;
        return dlb_fail(err, DLB_ERR_FORMAT, path, DLB_NO_OFFSET,
                        "holds no LMDB database (data.mdb)");
    }
    return DLB_OK;
}
