/* LMDB's meta pages, read without liblmdb, which divides by numbers in them. */
#include "formats/lmdb/lmdb.h"

#include "core/base/little.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Offsets in struct MDB_page, MDB_meta and MDB_db (mdb.c, 0.9). */
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

static int parse(const uint8_t *page, uint64_t at, const char *path, struct dlb_lmdb_head *out,
                 struct dlb_err *err)
{
    const uint8_t *meta = page + META_AT;
    uint64_t magic = dlb_little_get(meta, 4), version = dlb_little_get(meta + 4, 4);

    if (!(dlb_little_get(page + FLAGS_AT, 2) & FLAG_META) || magic != MAGIC)
        return dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, path, at,
                        "not an LMDB file of a little-endian 64-bit machine: there is no meta page "
                        "here");
    if (version != DATA_VERSION)
        return dlb_fail(err, DLB_ERR_FILE_VERSION_UNKNOWN, path, at + META_AT + 4,
                        "version %" PRIu64 " of LMDB's files; %d is known", version, DATA_VERSION);
    *out = (struct dlb_lmdb_head){.page_bytes = (uint32_t)dlb_little_get(meta + 24, 4),
                                  .map_bytes = dlb_little_get(meta + 16, 8),
                                  .flags = (uint32_t)dlb_little_get(meta + 24 + 48 + 4, 2),
                                  .n_entries = dlb_little_get(meta + 24 + 48 + 32, 8),
                                  .last_page = dlb_little_get(meta + 120, 8),
                                  .txn = dlb_little_get(meta + 128, 8)};
    uint32_t each = out->page_bytes;
    if (each < MIN_PAGE_BYTES || each > MAX_PAGE_BYTES || (each & (each - 1)) != 0)
        return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, path, at + META_AT + 24,
                        "damaged: the meta page gives pages of %u bytes", each);
    if (out->map_bytes > MAX_MAP_BYTES || out->last_page >= MAX_MAP_BYTES / each)
        return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, path, at + META_AT + 16,
                        "damaged: the meta page gives a map of %" PRIu64 " bytes and %" PRIu64
                        " pages",
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
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, path, at + n_read,
                        at || n_read ? "cut short within LMDB's meta pages" : "the file is empty");
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
        rc = dlb_fail(err, DLB_ERR_LMDB_DAMAGED, path, out->page_bytes,
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
        return dlb_fail_memory(err, path, strlen(path) + sizeof "/data.mdb");
    }
    if (kind == DLB_IO_DIR && io->stat(*out, &kind, &n_bytes, err) != DLB_OK) {
        free(*out);
        *out = NULL;
        return dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET,
                        "holds no LMDB database (data.mdb)");
    }
    return DLB_OK;
}
