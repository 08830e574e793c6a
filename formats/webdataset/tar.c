#include "formats/webdataset/tar.h"

#include "core/base/escape.h"
#include "formats/webdataset/tar_source.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

static la_ssize_t on_read(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar *tar = ctx;
    size_t n_read;

    if (dlb_tar_source_fetch(&tar->in, tar->in.at_bytes, &n_read) != DLB_OK) {
        archive_set_error(archive, EIO, "read failed");
        return -1;
    }
    tar->in.at_bytes += n_read;
    tar->in_block_bytes = n_read;
    tar->direct_bytes = 0;
    *block = tar->in.block;
    return (la_ssize_t)n_read;
}

/* Skips bytes that were read directly to their destination, and any others if seeking is allowed.
 * Never skips past the end: libarchive then reads there and reports that the archive is cut short.
 */
static la_int64_t on_skip(struct archive *archive, void *ctx, la_int64_t request)
{
    struct dlb_tar *tar = ctx;
    uint64_t left =
        tar->in.file_bytes > tar->in.at_bytes ? tar->in.file_bytes - tar->in.at_bytes : 0;
    uint64_t may = tar->in.skip ? left : tar->direct_bytes;
    uint64_t skipped = (uint64_t)request < may ? (uint64_t)request : may;

    (void)archive;
    tar->in.at_bytes += skipped;
    tar->direct_bytes -= skipped < tar->direct_bytes ? skipped : tar->direct_bytes;
    tar->in_block_bytes = 0;
    return (la_int64_t)skipped;
}

static la_ssize_t on_unpacked(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar *tar = ctx;
    size_t n_bytes;

    if (dlb_tar_source_unpack(&tar->in, block, &n_bytes) != DLB_OK) {
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
    if (tar->in.io_err.status != DLB_OK) {
        *err = tar->in.io_err;
        return (int)err->status;
    }
    const char *what = archive_error_string(tar->archive);
    int code = archive_errno(tar->archive);
    uint64_t at = offset_of(tar);
    if (at == 0 || at == DLB_NO_OFFSET)
        (void)dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, tar->in.path, at == 0 ? 0 : DLB_NO_OFFSET,
                       "not a tar archive (%s)%s", what ? what : "unknown",
                       tar->in.unpacker ? ", once unpacked"
                                        : ", nor one compressed by gzip or zstd");
    else
        (void)dlb_fail(err, DLB_ERR_TAR_DAMAGED, tar->in.path, at, "tar: %s; cut short or damaged",
                       what ? what : "unknown error");
    err->lib_code = code;
    return DLB_E_FORMAT;
}

int dlb_tar_open(struct dlb_tar *tar, const struct dlb_io *io, const char *path, size_t block_bytes,
                 bool skip, struct dlb_err *err)
{
    dlb_tar_close(tar);
    *tar = (struct dlb_tar){.in = {.io = io,
                                   .path = path,
                                   .handle = -1,
                                   .block = tar->in.block,
                                   .cap_bytes = tar->in.cap_bytes,
                                   .skip = skip},
                            .archive = archive_read_new()};
    if (!tar->archive)
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory to read it");
    int rc = dlb_tar_source_open(&tar->in, block_bytes, err);
    if (rc != DLB_OK)
        return rc;
    (void)archive_read_support_filter_none(tar->archive);
    (void)archive_read_support_format_tar(tar->archive);
    (void)archive_read_set_read_callback(tar->archive, tar->in.unpacker ? on_unpacked : on_read);
    if (!tar->in.unpacker)
        (void)archive_read_set_skip_callback(tar->archive, on_skip);
    (void)archive_read_set_callback_data(tar->archive, tar);
    return archive_read_open1(tar->archive) == ARCHIVE_OK ? DLB_OK : fail(tar, err);
}

void dlb_tar_close(struct dlb_tar *tar)
{
    if (tar->archive) {
        (void)archive_read_free(tar->archive);
        dlb_tar_source_close(&tar->in);
    }
    tar->archive = NULL;
}

void dlb_tar_free(struct dlb_tar *tar)
{
    dlb_tar_close(tar);
    dlb_tar_source_free(&tar->in);
}

int dlb_tar_next(struct dlb_tar *tar, struct dlb_tar_member *member, struct dlb_err *err)
{
    struct archive_entry *entry;

    int rc = archive_read_next_header(tar->archive, &entry);
    tar->header_at_bytes = (uint64_t)archive_read_header_position(tar->archive);
    if ((rc == ARCHIVE_EOF || rc == ARCHIVE_OK || rc == ARCHIVE_WARN) &&
        tar->header_at_bytes < tar->due_bytes)
        return dlb_fail(err, DLB_ERR_TAR_SPARSE, tar->in.path, tar->due_bytes,
                        "a member is stored in less than its size: write the archive without "
                        "--sparse");
    if (rc == ARCHIVE_EOF)
        return tar->in.unpacker ? dlb_tar_source_drain(&tar->in, tar->header_at_bytes, err)
                                : DLB_END;
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
    tar->due_bytes = member->regular && end <= tar->in.max_bytes ? end : 0;
    return DLB_OK;
}

static int fail_member(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                       enum dlb_code code, struct dlb_err *err)
{
    return dlb_fail(err, code, tar->in.path, member->header_at, "member %.*s %s",
                    DLB_CUT(member->name, 64),
                    code == DLB_ERR_TAR_SPARSE ? "is sparse: write the archive without --sparse"
                                               : "is cut short: the archive ends inside it");
}

int dlb_tar_check(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                  struct dlb_err *err)
{
    if (member->sparse)
        return fail_member(tar, member, DLB_ERR_TAR_SPARSE, err);
    if (member->data_at <= tar->in.max_bytes &&
        member->n_bytes <= tar->in.max_bytes - member->data_at)
        return DLB_OK;
    if (tar->in.unpacker)
        return dlb_tar_fail_expands(&tar->in, err);
    return fail_member(tar, member, DLB_ERR_TAR_CUT_SHORT, err);
}

/* The member begins in the block, and the rest is read directly to dst: one copy less than through
 * libarchive, which skips these bytes later. */
static int read_direct(struct dlb_tar *tar, const struct dlb_tar_member *member, uint8_t *dst,
                       struct dlb_err *err)
{
    size_t head = (size_t)(tar->in.at_bytes - member->data_at), n_read = 0;
    size_t rest = (size_t)member->n_bytes - head;

    memcpy(dst, tar->in.block + tar->in_block_bytes - head, head);
    int rc = tar->in.io->pread(tar->in.handle, dst + head, rest, tar->in.at_bytes, &n_read,
                               tar->in.path, err);
    if (rc != DLB_OK)
        return rc;
    tar->in.asked_bytes += n_read;
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
    if (!tar->in.unpacker && member->data_at <= tar->in.at_bytes &&
        member->data_at + tar->in_block_bytes >= tar->in.at_bytes &&
        member->n_bytes > tar->in.at_bytes - member->data_at)
        return read_direct(tar, member, dst, err);
    return read_pieces(tar, member, dst, err);
}

bool dlb_tar_lacks_end(const struct dlb_tar *tar)
{
    return tar->header_at_bytes >= (tar->in.unpacker ? tar->in.at_bytes : tar->in.file_bytes);
}

int dlb_tar_behind_end(struct dlb_tar *tar, uint64_t *at_bytes, struct dlb_err *err)
{
    int rc = dlb_tar_source_look_behind(&tar->in, tar->header_at_bytes, err);
    *at_bytes = tar->in.behind_bytes;
    return rc;
}

uint64_t dlb_tar_tail_bytes(const struct dlb_tar *tar)
{
    uint64_t end = tar->in.unpacker ? tar->in.at_bytes : tar->in.file_bytes;
    return end > tar->header_at_bytes ? end - tar->header_at_bytes : 0;
}

#endif
