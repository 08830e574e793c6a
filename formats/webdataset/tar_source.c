#include "formats/webdataset/tar_source.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PACKED_BLOCK_BYTES = 1 << 20 };

int dlb_tar_source_fetch(struct dlb_tar_source *in, uint64_t at_bytes, size_t *n_read)
{
    *n_read = in->first_bytes;
    in->first_bytes = 0;
    if (*n_read)
        return DLB_OK;
    int rc = in->io->pread(in->handle, in->block, in->block_bytes, at_bytes, n_read, in->path,
                           &in->io_err);
    if (rc == DLB_OK)
        in->asked_bytes += *n_read;
    return rc;
}

/* The unpacker reads the file. */
static la_ssize_t on_stored(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar_source *in = ctx;
    size_t n_read;

    if (dlb_tar_source_fetch(in, in->stored_at_bytes, &n_read) != DLB_OK) {
        archive_set_error(archive, EIO, "read failed");
        return -1;
    }
    in->stored_at_bytes += n_read;
    *block = in->block;
    return (la_ssize_t)n_read;
}

static int fail_unpack(struct dlb_tar_source *in, struct dlb_err *err)
{
    const char *what = archive_error_string(in->unpacker);
    int code = archive_errno(in->unpacker);
    la_int64_t at = archive_filter_bytes(in->unpacker, -1);

    if (in->io_err.status != DLB_OK) {
        *err = in->io_err;
        return (int)err->status;
    }
    /* libzstd's message for a window beyond its limit. */
    if (what && strstr(what, "too much memory"))
        (void)dlb_fail(err, DLB_ERR_UNPACK_WINDOW_TOO_LARGE, in->path, at > 0 ? (uint64_t)at : 0,
                       "its zstd window is larger than %llu MiB: pack it again without --ultra "
                       "and --long",
                       (unsigned long long)(DLB_TAR_MAX_WINDOW_BYTES >> 20));
    else
        (void)dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, in->path, at > 0 ? (uint64_t)at : 0,
                       "unpacking (%s): %s; cut short or damaged", dlb_tar_pack_names[in->pack],
                       what ? what : "unknown error");
    err->lib_code = code;
    return DLB_E_FORMAT;
}

int dlb_tar_fail_expands(const struct dlb_tar_source *in, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_UNPACK_TOO_LARGE, in->path, 0,
                    "unpacks to more than %d times its %llu bytes, as a decompression bomb does: "
                    "unpack it to a plain .tar if you trust it",
                    DLB_TAR_MAX_EXPANSION, (unsigned long long)in->file_bytes);
}

int dlb_tar_source_unpack(struct dlb_tar_source *in, const void **piece, size_t *n_bytes)
{
    la_int64_t ignored;
    int rc;

    *n_bytes = 0;
    if (in->drained)
        return DLB_OK;
    do
        rc = archive_read_data_block(in->unpacker, piece, n_bytes, &ignored);
    while (rc == ARCHIVE_RETRY || (rc == ARCHIVE_OK && *n_bytes == 0));
    if (rc == ARCHIVE_EOF) {
        *n_bytes = 0;
        in->drained = true;
        return DLB_OK;
    }
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return fail_unpack(in, &in->io_err);
    in->piece = *piece;
    in->n_piece_bytes = *n_bytes;
    in->at_bytes += *n_bytes;
    return in->at_bytes > in->max_bytes ? dlb_tar_fail_expands(in, &in->io_err) : DLB_OK;
}

static int make_block(struct dlb_tar_source *in, size_t n_bytes, struct dlb_err *err)
{
    size_t rounded = (n_bytes + 4095) & ~(size_t)4095;

    in->block_bytes = n_bytes;
    if (rounded <= in->cap_bytes)
        return DLB_OK;
    uint8_t *larger = aligned_alloc(4096, rounded);
    if (!larger)
        return dlb_fail_memory(err, in->path, rounded);
    if (in->first_bytes)
        memcpy(larger, in->block, in->first_bytes);
    free(in->block);
    in->block = larger;
    in->cap_bytes = rounded;
    return DLB_OK;
}

/* pzstd begins its files with such a frame, which libarchive 3.6 does not take for zstd's. Leaves
 * the block as it is when no frame with data follows. */
static int pass_skippable(struct dlb_tar_source *in, size_t *n_read, struct dlb_err *err)
{
    enum { MOST = 16 };
    uint64_t at_bytes = 0;
    size_t n = *n_read;
    int rc = DLB_OK;

    for (int i = 0; i < MOST && rc == DLB_OK && at_bytes < in->file_bytes; i++) {
        uint64_t frame_bytes = dlb_tar_skippable_bytes(in->block, n);
        if (frame_bytes == 0)
            break;
        at_bytes += frame_bytes;
        if (at_bytes < in->file_bytes)
            rc = dlb_tar_source_fetch(in, at_bytes, &n);
    }
    if (rc == DLB_OK && at_bytes > 0 && dlb_tar_pack_of(in->block, n) == DLB_TAR_ZST) {
        in->stored_at_bytes = at_bytes;
        *n_read = n;
    } else if (rc == DLB_OK && at_bytes > 0) {
        rc = dlb_tar_source_fetch(in, 0, n_read);
    }
    if (rc != DLB_OK)
        *err = in->io_err;
    return rc;
}

static int open_unpacker(struct dlb_tar_source *in, struct dlb_err *err)
{
    struct archive_entry *entry;
    int rc;

    in->unpacker = archive_read_new();
    if (!in->unpacker)
        return dlb_fail(err, DLB_ERR_NOMEM, in->path, DLB_NO_OFFSET, "out of memory to unpack it");
    rc = in->pack == DLB_TAR_GZ ? archive_read_support_filter_gzip(in->unpacker)
                                : archive_read_support_filter_zstd(in->unpacker);
    if (rc != ARCHIVE_OK) /* a warning means that libarchive would run another program */
        return dlb_fail(err, DLB_ERR_MISSING, in->path, DLB_NO_OFFSET,
                        "is compressed (%s), and this libarchive was built without it",
                        dlb_tar_pack_names[in->pack]);
    (void)archive_read_support_format_raw(in->unpacker);
    (void)archive_read_support_format_empty(in->unpacker);
    (void)archive_read_set_read_callback(in->unpacker, on_stored);
    (void)archive_read_set_callback_data(in->unpacker, in);
    if (archive_read_open1(in->unpacker) != ARCHIVE_OK)
        return fail_unpack(in, err);
    rc = archive_read_next_header(in->unpacker, &entry);
    if (rc == ARCHIVE_EOF)
        in->drained = true;
    else if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return fail_unpack(in, err);
    if (archive_filter_count(in->unpacker) > 2)
        return dlb_fail(err, DLB_ERR_SHARD_COMPRESSION_UNKNOWN, in->path, 0,
                        "is compressed twice: unpack it once");
    return DLB_OK;
}

/* At most what the file holds. */
static size_t block_for(const struct dlb_tar_source *in, size_t block_bytes)
{
    return in->file_bytes < block_bytes ? (size_t)in->file_bytes + 1 : block_bytes;
}

int dlb_tar_source_open(struct dlb_tar_source *in, size_t block_bytes, struct dlb_err *err)
{
    size_t n_read = 0;
    int rc = in->io->open(in->path, &in->handle, err);

    if (rc != DLB_OK) {
        in->handle = -1;
        return rc;
    }
    if (!in->skip && in->io->sequential)
        in->io->sequential(in->handle);
    rc = in->io->size(in->handle, &in->file_bytes, in->path, err);
    if (rc == DLB_OK)
        rc = make_block(in, block_for(in, block_bytes), err);
    if (rc != DLB_OK)
        return rc;
    if (dlb_tar_source_fetch(in, 0, &n_read) != DLB_OK) {
        *err = in->io_err;
        return (int)err->status;
    }
    rc = pass_skippable(in, &n_read, err);
    if (rc != DLB_OK)
        return rc;
    in->max_bytes = in->file_bytes;
    in->first_bytes = n_read;
    in->pack = dlb_tar_pack_of(in->block, n_read);
    if (in->pack == DLB_TAR_PLAIN)
        return DLB_OK;
    if (__builtin_mul_overflow(in->file_bytes, (uint64_t)DLB_TAR_MAX_EXPANSION, &in->max_bytes) ||
        __builtin_add_overflow(in->max_bytes, DLB_TAR_FREE_BYTES, &in->max_bytes))
        in->max_bytes = UINT64_MAX;
    rc = make_block(in, block_for(in, PACKED_BLOCK_BYTES), err);
    return rc == DLB_OK ? open_unpacker(in, err) : rc;
}

/* `data` ends at end_bytes of the archive. */
static void look_behind(struct dlb_tar_source *in, uint64_t mark_bytes, const uint8_t *data,
                        size_t n_bytes, uint64_t end_bytes)
{
    uint64_t begin = end_bytes - n_bytes;

    for (size_t i = begin < mark_bytes ? (size_t)(mark_bytes - begin) : 0;
         i < n_bytes && !in->behind_bytes; i++)
        if (data[i])
            in->behind_bytes = begin + i;
}

int dlb_tar_source_drain(struct dlb_tar_source *in, uint64_t mark_bytes, struct dlb_err *err)
{
    const void *piece;
    size_t n_bytes = in->drained ? 0 : in->n_piece_bytes;

    while (n_bytes > 0) {
        look_behind(in, mark_bytes, in->piece, n_bytes, in->at_bytes);
        if (dlb_tar_source_unpack(in, &piece, &n_bytes) != DLB_OK) {
            *err = in->io_err;
            return (int)err->status;
        }
    }
    return DLB_END;
}

int dlb_tar_source_look_behind(struct dlb_tar_source *in, uint64_t mark_bytes, struct dlb_err *err)
{
    uint64_t at = mark_bytes, end = at + DLB_TAR_MOST_PADDING_BYTES;
    int rc = DLB_OK;

    end = in->unpacker ? 0 : end < in->file_bytes ? end : in->file_bytes;
    for (size_t n = 1; n > 0 && rc == DLB_OK && !in->behind_bytes && at < end; at += n) {
        rc = in->io->pread(in->handle, in->block, in->block_bytes, at, &n, in->path, err);
        if (rc == DLB_OK)
            look_behind(in, mark_bytes, in->block, n, at + n);
    }
    return rc;
}

void dlb_tar_source_close(struct dlb_tar_source *in)
{
    (void)archive_read_free(in->unpacker);
    if (in->handle >= 0)
        in->io->close(in->handle);
    in->unpacker = NULL;
    in->handle = -1;
}

void dlb_tar_source_free(struct dlb_tar_source *in)
{
    free(in->block);
    in->block = NULL;
    in->cap_bytes = 0;
}

#endif
