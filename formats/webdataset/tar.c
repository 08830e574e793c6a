#include "formats/webdataset/tar.h"

#include "core/base/escape.h"
#include "formats/webdataset/pack.h"
#include "formats/webdataset/tar_end.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PACKED_BLOCK_BYTES = 1 << 20 };

/* The file's next block; open has read the first. */
static int fetch(struct dlb_tar *tar, uint64_t at_bytes, size_t *n_read)
{
    *n_read = tar->first_bytes;
    tar->first_bytes = 0;
    if (*n_read)
        return DLB_OK;
    int rc = tar->io->pread(tar->handle, tar->block, tar->block_bytes, at_bytes, n_read, tar->path,
                            &tar->io_err);
    if (rc == DLB_OK)
        tar->asked_bytes += *n_read;
    return rc;
}

static la_ssize_t on_read(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar *tar = ctx;
    size_t n_read;

    if (fetch(tar, tar->at_bytes, &n_read) != DLB_OK) {
        archive_set_error(archive, EIO, "read failed");
        return -1;
    }
    tar->at_bytes += n_read;
    tar->in_block_bytes = n_read;
    tar->direct_bytes = 0;
    *block = tar->block;
    return (la_ssize_t)n_read;
}

/* Skips bytes that were read directly to their destination, and any others if seeking is allowed.
 * Never skips past the end: libarchive then reads there and reports that the archive is cut short.
 */
static la_int64_t on_skip(struct archive *archive, void *ctx, la_int64_t request)
{
    struct dlb_tar *tar = ctx;
    uint64_t left = tar->file_bytes > tar->at_bytes ? tar->file_bytes - tar->at_bytes : 0;
    uint64_t may = tar->skip ? left : tar->direct_bytes;
    uint64_t skipped = (uint64_t)request < may ? (uint64_t)request : may;

    (void)archive;
    tar->at_bytes += skipped;
    tar->direct_bytes -= skipped < tar->direct_bytes ? skipped : tar->direct_bytes;
    tar->in_block_bytes = 0;
    return (la_int64_t)skipped;
}

/* The unpacker reads the file. */
static la_ssize_t on_stored(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar *tar = ctx;
    size_t n_read;

    if (fetch(tar, tar->stored_at_bytes, &n_read) != DLB_OK) {
        archive_set_error(archive, EIO, "read failed");
        return -1;
    }
    tar->stored_at_bytes += n_read;
    *block = tar->block;
    return (la_ssize_t)n_read;
}

static int fail_unpack(struct dlb_tar *tar, struct dlb_err *err)
{
    const char *what = archive_error_string(tar->unpacker);
    int code = archive_errno(tar->unpacker);
    la_int64_t at = archive_filter_bytes(tar->unpacker, -1);

    if (tar->io_err.status != DLB_OK) {
        *err = tar->io_err;
        return (int)err->status;
    }
    /* libzstd's message for a window beyond its limit. */
    if (what && strstr(what, "too much memory"))
        (void)dlb_fail(err, DLB_ERR_UNPACK_WINDOW_TOO_LARGE, tar->path, at > 0 ? (uint64_t)at : 0,
                       "its zstd window is larger than %llu MiB: pack it again without --ultra "
                       "and --long",
                       (unsigned long long)(DLB_TAR_MAX_WINDOW_BYTES >> 20));
    else
        (void)dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, tar->path, at > 0 ? (uint64_t)at : 0,
                       "unpacking (%s): %s; cut short or damaged", dlb_tar_pack_names[tar->pack],
                       what ? what : "unknown error");
    err->lib_code = code;
    return DLB_E_FORMAT;
}

static int fail_expands(const struct dlb_tar *tar, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_UNPACK_TOO_LARGE, tar->path, 0,
                    "unpacks to more than %d times its %llu bytes, as a decompression bomb does: "
                    "unpack it to a plain .tar if you trust it",
                    DLB_TAR_MAX_EXPANSION, (unsigned long long)tar->file_bytes);
}

int dlb_tar_unpack(struct dlb_tar *tar, const void **piece, size_t *n_bytes)
{
    la_int64_t ignored;
    int rc;

    *n_bytes = 0;
    if (tar->drained)
        return DLB_OK;
    do
        rc = archive_read_data_block(tar->unpacker, piece, n_bytes, &ignored);
    while (rc == ARCHIVE_RETRY || (rc == ARCHIVE_OK && *n_bytes == 0));
    if (rc == ARCHIVE_EOF) {
        *n_bytes = 0;
        tar->drained = true;
        return DLB_OK;
    }
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return fail_unpack(tar, &tar->io_err);
    tar->piece = *piece;
    tar->n_piece_bytes = *n_bytes;
    tar->at_bytes += *n_bytes;
    return tar->at_bytes > tar->max_bytes ? fail_expands(tar, &tar->io_err) : DLB_OK;
}

static la_ssize_t on_unpacked(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar *tar = ctx;
    size_t n_bytes;

    if (dlb_tar_unpack(tar, block, &n_bytes) != DLB_OK) {
        archive_set_error(archive, EIO, "unpacking failed");
        return -1;
    }
    return (la_ssize_t)n_bytes;
}

static uint64_t offset_of(const struct dlb_tar *tar)
{
    la_int64_t at = archive_filter_bytes(tar->archive, -1);
    return at >= 0 ? (uint64_t)at : DLB_NO_OFFSET;
}

static int fail(struct dlb_tar *tar, struct dlb_err *err)
{
    if (tar->io_err.status != DLB_OK) {
        *err = tar->io_err;
        return (int)err->status;
    }
    const char *what = archive_error_string(tar->archive);
    int code = archive_errno(tar->archive);
    uint64_t at = offset_of(tar);
    if (at == 0 || at == DLB_NO_OFFSET)
        (void)dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, tar->path, at == 0 ? 0 : DLB_NO_OFFSET,
                       "not a tar archive (%s)%s", what ? what : "unknown",
                       tar->unpacker ? ", once unpacked" : ", nor one compressed by gzip or zstd");
    else
        (void)dlb_fail(err, DLB_ERR_TAR_DAMAGED, tar->path, at, "tar: %s; cut short or damaged",
                       what ? what : "unknown error");
    err->lib_code = code;
    return DLB_E_FORMAT;
}

static int make_block(struct dlb_tar *tar, size_t n_bytes, struct dlb_err *err)
{
    size_t rounded = (n_bytes + 4095) & ~(size_t)4095;

    tar->block_bytes = n_bytes;
    if (rounded <= tar->cap_bytes)
        return DLB_OK;
    uint8_t *larger = aligned_alloc(4096, rounded);
    if (!larger)
        return dlb_fail_memory(err, tar->path, rounded);
    if (tar->first_bytes)
        memcpy(larger, tar->block, tar->first_bytes);
    free(tar->block);
    tar->block = larger;
    tar->cap_bytes = rounded;
    return DLB_OK;
}

/* pzstd begins its files with such a frame, which libarchive 3.6 does not take for zstd's. Leaves
 * the block as it is when no frame with data follows. */
static int pass_skippable(struct dlb_tar *tar, size_t *n_read, struct dlb_err *err)
{
    enum { MOST = 16 };
    uint64_t at_bytes = 0;
    size_t n = *n_read;
    int rc = DLB_OK;

    for (int i = 0; i < MOST && rc == DLB_OK && at_bytes < tar->file_bytes; i++) {
        uint64_t frame_bytes = dlb_tar_skippable_bytes(tar->block, n);
        if (frame_bytes == 0)
            break;
        at_bytes += frame_bytes;
        if (at_bytes < tar->file_bytes)
            rc = fetch(tar, at_bytes, &n);
    }
    if (rc == DLB_OK && at_bytes > 0 && dlb_tar_pack_of(tar->block, n) == DLB_TAR_ZST) {
        tar->stored_at_bytes = at_bytes;
        *n_read = n;
    } else if (rc == DLB_OK && at_bytes > 0) {
        rc = fetch(tar, 0, n_read);
    }
    if (rc != DLB_OK)
        *err = tar->io_err;
    return rc;
}

static int open_unpacker(struct dlb_tar *tar, struct dlb_err *err)
{
    struct archive_entry *entry;
    int rc;

    tar->unpacker = archive_read_new();
    if (!tar->unpacker)
        return dlb_fail(err, DLB_ERR_NOMEM, tar->path, DLB_NO_OFFSET, "out of memory to unpack it");
    rc = tar->pack == DLB_TAR_GZ ? archive_read_support_filter_gzip(tar->unpacker)
                                 : archive_read_support_filter_zstd(tar->unpacker);
    if (rc != ARCHIVE_OK) /* a warning means that libarchive would run another program */
        return dlb_fail(err, DLB_ERR_MISSING, tar->path, DLB_NO_OFFSET,
                        "is compressed (%s), and this libarchive was built without it",
                        dlb_tar_pack_names[tar->pack]);
    (void)archive_read_support_format_raw(tar->unpacker);
    (void)archive_read_support_format_empty(tar->unpacker);
    (void)archive_read_set_read_callback(tar->unpacker, on_stored);
    (void)archive_read_set_callback_data(tar->unpacker, tar);
    if (archive_read_open1(tar->unpacker) != ARCHIVE_OK)
        return fail_unpack(tar, err);
    rc = archive_read_next_header(tar->unpacker, &entry);
    if (rc == ARCHIVE_EOF)
        tar->drained = true;
    else if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return fail_unpack(tar, err);
    if (archive_filter_count(tar->unpacker) > 2)
        return dlb_fail(err, DLB_ERR_SHARD_COMPRESSION_UNKNOWN, tar->path, 0,
                        "is compressed twice: unpack it once");
    return DLB_OK;
}

/* At most what the file holds. */
static size_t block_for(const struct dlb_tar *tar, size_t block_bytes)
{
    return tar->file_bytes < block_bytes ? (size_t)tar->file_bytes + 1 : block_bytes;
}

static int look_at_file(struct dlb_tar *tar, size_t block_bytes, struct dlb_err *err)
{
    size_t n_read = 0;
    int rc = tar->io->open(tar->path, &tar->handle, err);

    if (rc != DLB_OK) {
        tar->handle = -1;
        return rc;
    }
    if (!tar->skip && tar->io->sequential)
        tar->io->sequential(tar->handle);
    rc = tar->io->size(tar->handle, &tar->file_bytes, tar->path, err);
    if (rc == DLB_OK)
        rc = make_block(tar, block_for(tar, block_bytes), err);
    if (rc != DLB_OK)
        return rc;
    if (fetch(tar, 0, &n_read) != DLB_OK) {
        *err = tar->io_err;
        return (int)err->status;
    }
    rc = pass_skippable(tar, &n_read, err);
    if (rc != DLB_OK)
        return rc;
    tar->max_bytes = tar->file_bytes;
    tar->first_bytes = n_read;
    tar->pack = dlb_tar_pack_of(tar->block, n_read);
    if (tar->pack == DLB_TAR_PLAIN)
        return DLB_OK;
    if (__builtin_mul_overflow(tar->file_bytes, (uint64_t)DLB_TAR_MAX_EXPANSION, &tar->max_bytes) ||
        __builtin_add_overflow(tar->max_bytes, DLB_TAR_FREE_BYTES, &tar->max_bytes))
        tar->max_bytes = UINT64_MAX;
    rc = make_block(tar, block_for(tar, PACKED_BLOCK_BYTES), err);
    return rc == DLB_OK ? open_unpacker(tar, err) : rc;
}

int dlb_tar_open(struct dlb_tar *tar, const struct dlb_io *io, const char *path, size_t block_bytes,
                 bool skip, struct dlb_err *err)
{
    dlb_tar_close(tar);
    *tar = (struct dlb_tar){.io = io,
                            .path = path,
                            .handle = -1,
                            .block = tar->block,
                            .cap_bytes = tar->cap_bytes,
                            .skip = skip,
                            .archive = archive_read_new()};
    if (!tar->archive)
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory to read it");
    int rc = look_at_file(tar, block_bytes, err);
    if (rc != DLB_OK)
        return rc;
    (void)archive_read_support_filter_none(tar->archive);
    (void)archive_read_support_format_tar(tar->archive);
    (void)archive_read_set_read_callback(tar->archive, tar->unpacker ? on_unpacked : on_read);
    if (!tar->unpacker)
        (void)archive_read_set_skip_callback(tar->archive, on_skip);
    (void)archive_read_set_callback_data(tar->archive, tar);
    return archive_read_open1(tar->archive) == ARCHIVE_OK ? DLB_OK : fail(tar, err);
}

void dlb_tar_close(struct dlb_tar *tar)
{
    if (tar->archive) {
        (void)archive_read_free(tar->archive);
        (void)archive_read_free(tar->unpacker);
        if (tar->handle >= 0)
            tar->io->close(tar->handle);
    }
    tar->archive = tar->unpacker = NULL;
    tar->handle = -1;
}

void dlb_tar_free(struct dlb_tar *tar)
{
    dlb_tar_close(tar);
    free(tar->block);
    tar->block = NULL;
    tar->cap_bytes = 0;
}

int dlb_tar_next(struct dlb_tar *tar, struct dlb_tar_member *member, struct dlb_err *err)
{
    struct archive_entry *entry;

    int rc = archive_read_next_header(tar->archive, &entry);
    tar->header_at_bytes = (uint64_t)archive_read_header_position(tar->archive);
    if ((rc == ARCHIVE_EOF || rc == ARCHIVE_OK || rc == ARCHIVE_WARN) &&
        tar->header_at_bytes < tar->due_bytes)
        return dlb_fail(err, DLB_ERR_TAR_SPARSE, tar->path, tar->due_bytes,
                        "a member is stored in less than its size: write the archive without "
                        "--sparse");
    if (rc == ARCHIVE_EOF)
        return tar->unpacker ? dlb_tar_drain(tar, err) : DLB_END;
    /* A warning concerns attributes that are not used, or a name that the locale cannot express. */
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return fail(tar, err);
    const char *name = archive_entry_pathname(entry);
    if (!name)
        name = archive_entry_pathname_utf8(entry);
    *member = (struct dlb_tar_member){.name = name ? name : "",
                                      .n_bytes = (uint64_t)archive_entry_size(entry),
                                      .header_at = tar->header_at_bytes,
                                      .regular = archive_entry_filetype(entry) == AE_IFREG &&
                                                 !archive_entry_hardlink(entry),
                                      .folder = archive_entry_filetype(entry) == AE_IFDIR};
    member->data_at = offset_of(tar);
    member->sparse = archive_entry_sparse_count(entry) > 0;
    /* A member that is one hole has no sparse entries, so its end is checked too. dlb_tar_check
     * handles archives that end early. */
    uint64_t end = member->data_at + member->n_bytes;
    tar->due_bytes = member->regular && end <= tar->max_bytes ? end : 0;
    return DLB_OK;
}

static int fail_member(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                       enum dlb_code code, struct dlb_err *err)
{
    return dlb_fail(err, code, tar->path, member->header_at, "member %.*s %s",
                    DLB_CUT(member->name, 64),
                    code == DLB_ERR_TAR_SPARSE ? "is sparse: write the archive without --sparse"
                                               : "is cut short: the archive ends inside it");
}

int dlb_tar_check(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                  struct dlb_err *err)
{
    if (member->sparse)
        return fail_member(tar, member, DLB_ERR_TAR_SPARSE, err);
    if (member->data_at <= tar->max_bytes && member->n_bytes <= tar->max_bytes - member->data_at)
        return DLB_OK;
    if (tar->unpacker)
        return fail_expands(tar, err);
    return fail_member(tar, member, DLB_ERR_TAR_CUT_SHORT, err);
}

/* The member begins in the block, and the rest is read directly to dst: one copy less than through
 * libarchive, which skips these bytes later. */
static int read_direct(struct dlb_tar *tar, const struct dlb_tar_member *member, uint8_t *dst,
                       struct dlb_err *err)
{
    size_t head = (size_t)(tar->at_bytes - member->data_at), n_read = 0;
    size_t rest = (size_t)member->n_bytes - head;

    memcpy(dst, tar->block + tar->in_block_bytes - head, head);
    int rc = tar->io->pread(tar->handle, dst + head, rest, tar->at_bytes, &n_read, tar->path, err);
    if (rc != DLB_OK)
        return rc;
    tar->asked_bytes += n_read;
    tar->direct_bytes = rest;
    if (n_read < rest)
        return fail_member(tar, member, DLB_ERR_TAR_CUT_SHORT, err);
    return DLB_OK;
}

/* Reads through libarchive. It does not report the holes of a sparse member whose map exceeds its
 * size; a gap between two pieces shows them. */
static int read_pieces(struct dlb_tar *tar, const struct dlb_tar_member *member, uint8_t *dst,
                       struct dlb_err *err)
{
    size_t n_bytes = (size_t)member->n_bytes, done = 0;

    while (done < n_bytes) {
        const void *piece;
        size_t n;
        la_int64_t at;
        int rc = archive_read_data_block(tar->archive, &piece, &n, &at);
        if (rc == ARCHIVE_EOF)
            return fail_member(tar, member, DLB_ERR_TAR_CUT_SHORT, err);
        if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
            return fail(tar, err);
        if (at != (la_int64_t)done)
            return fail_member(tar, member, DLB_ERR_TAR_SPARSE, err);
        if (n > n_bytes - done)
            n = n_bytes - done;
        memcpy(dst + done, piece, n);
        done += n;
    }
    return DLB_OK;
}

int dlb_tar_read(struct dlb_tar *tar, const struct dlb_tar_member *member, void *dst,
                 struct dlb_err *err)
{
    int rc = dlb_tar_check(tar, member, err);
    if (rc != DLB_OK)
        return rc;
    if (!tar->unpacker && member->data_at <= tar->at_bytes &&
        member->data_at + tar->in_block_bytes >= tar->at_bytes &&
        member->n_bytes > tar->at_bytes - member->data_at)
        return read_direct(tar, member, dst, err);
    return read_pieces(tar, member, dst, err);
}

#endif
