#include "formats/tar.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "formats/gen_target.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITE_BLOCK_BYTES = 1 << 20 };

static la_ssize_t on_read(struct archive *archive, void *ctx, const void **block)
{
    struct dlb_tar *tar = ctx;
    size_t n_read = 0;

    if (tar->io->pread(tar->handle, tar->block, tar->block_bytes, tar->at_bytes, &n_read, tar->path,
                       &tar->io_err) != DLB_OK) {
        archive_set_error(archive, EIO, "read failed");
        return -1;
    }
    tar->at_bytes += n_read;
    tar->asked_bytes += n_read;
    tar->in_block_bytes = n_read;
    tar->direct_bytes = 0;
    *block = tar->block;
    return (la_ssize_t)n_read;
}

/* What was read straight into its place is passed over, and all else where the caller may seek.
 * Never past the end: libarchive then reads there, and says itself that the archive is cut short.
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
        (void)dlb_fail(err, DLB_E_FORMAT, tar->path, at == 0 ? 0 : DLB_NO_OFFSET,
                       "not a plain tar archive (%s); a compressed one must be unpacked first",
                       what ? what : "unknown");
    else
        (void)dlb_fail(err, DLB_E_FORMAT, tar->path, at, "tar: %s; cut short or damaged",
                       what ? what : "unknown error");
    err->lib_code = code;
    return DLB_E_FORMAT;
}

int dlb_tar_open(struct dlb_tar *tar, const struct dlb_io *io, const char *path, size_t block_bytes,
                 bool skip, struct dlb_err *err)
{
    dlb_tar_close(tar);
    if (tar->block_bytes != block_bytes) {
        free(tar->block);
        tar->block = aligned_alloc(4096, (block_bytes + 4095) & ~(size_t)4095);
        tar->block_bytes = tar->block ? block_bytes : 0;
    }
    *tar = (struct dlb_tar){.io = io,
                            .path = path,
                            .handle = -1,
                            .block = tar->block,
                            .block_bytes = tar->block_bytes,
                            .skip = skip,
                            .archive = archive_read_new()};
    if (!tar->block || !tar->archive)
        return dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET, "no memory to read it");
    int rc = io->open(path, &tar->handle, err);
    if (rc != DLB_OK) {
        tar->handle = -1;
        return rc;
    }
    rc = io->size(tar->handle, &tar->file_bytes, path, err);
    if (rc != DLB_OK)
        return rc;
    (void)archive_read_support_filter_none(tar->archive);
    (void)archive_read_support_format_tar(tar->archive);
    (void)archive_read_set_read_callback(tar->archive, on_read);
    (void)archive_read_set_skip_callback(tar->archive, on_skip);
    (void)archive_read_set_callback_data(tar->archive, tar);
    return archive_read_open1(tar->archive) == ARCHIVE_OK ? DLB_OK : fail(tar, err);
}

void dlb_tar_close(struct dlb_tar *tar)
{
    if (tar->archive) {
        (void)archive_read_free(tar->archive);
        if (tar->handle >= 0)
            tar->io->close(tar->handle);
    }
    tar->archive = NULL;
    tar->handle = -1;
}

void dlb_tar_free(struct dlb_tar *tar)
{
    dlb_tar_close(tar);
    free(tar->block);
    tar->block = NULL;
    tar->block_bytes = 0;
}

int dlb_tar_next(struct dlb_tar *tar, struct dlb_tar_member *member, struct dlb_err *err)
{
    struct archive_entry *entry;

    int rc = archive_read_next_header(tar->archive, &entry);
    if ((rc == ARCHIVE_EOF || rc == ARCHIVE_OK || rc == ARCHIVE_WARN) &&
        (uint64_t)archive_read_header_position(tar->archive) < tar->due_bytes)
        return dlb_fail(err, DLB_E_FORMAT, tar->path, tar->due_bytes,
                        "a member is stored in less than its size: write without --sparse");
    if (rc == ARCHIVE_EOF)
        return DLB_END;
    /* A warning is about attributes that nobody asks for, or a name that the locale cannot say. */
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return fail(tar, err);
    const char *name = archive_entry_pathname(entry);
    if (!name)
        name = archive_entry_pathname_utf8(entry);
    *member = (struct dlb_tar_member){
        .name = name ? name : "",
        .n_bytes = (uint64_t)archive_entry_size(entry),
        .header_at = (uint64_t)archive_read_header_position(tar->archive),
        .regular = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry)};
    member->data_at = offset_of(tar);
    member->sparse = archive_entry_sparse_count(entry) > 0;
    /* A member that is all hole has no sparse entries to count. What ends early is for
     * dlb_tar_check. */
    uint64_t end = member->data_at + member->n_bytes;
    tar->due_bytes = member->regular && end <= tar->file_bytes ? end : 0;
    return DLB_OK;
}

int dlb_tar_check(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                  struct dlb_err *err)
{
    if (member->sparse)
        return dlb_fail(err, DLB_E_FORMAT, tar->path, member->header_at,
                        "member %.64s is sparse: write the archive without --sparse", member->name);
    if (member->data_at > tar->file_bytes || member->n_bytes > tar->file_bytes - member->data_at)
        return dlb_fail(err, DLB_E_FORMAT, tar->path, member->header_at,
                        "the archive ends inside member %.64s: it is cut short", member->name);
    return DLB_OK;
}

/* The member's beginning is in the block, and the rest goes straight to dst: one copy less than
 * through libarchive, which skips it later. */
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
        return dlb_fail(err, DLB_E_FORMAT, tar->path, member->header_at,
                        "the archive ends inside member %.64s: it is cut short", member->name);
    return DLB_OK;
}

int dlb_tar_read(struct dlb_tar *tar, const struct dlb_tar_member *member, void *dst,
                 struct dlb_err *err)
{
    int rc = dlb_tar_check(tar, member, err);
    if (rc != DLB_OK)
        return rc;
    if (member->data_at <= tar->at_bytes &&
        member->data_at + tar->in_block_bytes >= tar->at_bytes &&
        member->n_bytes > tar->at_bytes - member->data_at)
        return read_direct(tar, member, dst, err);
    la_ssize_t n = archive_read_data(tar->archive, dst, (size_t)member->n_bytes);

    if (n < 0)
        return fail(tar, err);
    if ((uint64_t)n != member->n_bytes)
        return dlb_fail(err, DLB_E_FORMAT, tar->path, member->header_at,
                        "member %.64s has fewer bytes than its header says", member->name);
    return DLB_OK;
}

bool dlb_tar_lacks_end(const struct dlb_tar *tar)
{
    /* At the end this is where the header after the last member was looked for. */
    return (uint64_t)archive_read_header_position(tar->archive) >= tar->file_bytes;
}

static la_ssize_t on_write(struct archive *archive, void *ctx, const void *data, size_t n_bytes)
{
    struct dlb_tar_writer *writer = ctx;
    ssize_t n;

    if (writer->discard)
        return (la_ssize_t)n_bytes;
    do
        n = write(writer->fd, data, n_bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        writer->write_errno = errno;
        archive_set_error(archive, errno, "write failed");
    }
    return n;
}

static int fail_write(struct dlb_tar_writer *writer, struct dlb_err *err)
{
    if (writer->write_errno) {
        errno = writer->write_errno;
        return dlb_gen_fail_write(err, writer->path, DLB_NO_OFFSET, "writing");
    }
    const char *what = archive_error_string(writer->archive);
    return dlb_fail(err, DLB_E_IO, writer->path, DLB_NO_OFFSET, "writing the tar archive: %s",
                    what ? what : "unknown error");
}

int dlb_tar_writer_open(struct dlb_tar_writer *writer, int fd, const char *path,
                        struct dlb_err *err)
{
    *writer = (struct dlb_tar_writer){.archive = archive_write_new(), .path = path, .fd = fd};
    if (!writer->archive)
        return dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET, "no memory to write it");
    (void)archive_write_set_format_ustar(writer->archive);
    (void)archive_write_add_filter_none(writer->archive);
    (void)archive_write_set_bytes_per_block(writer->archive, WRITE_BLOCK_BYTES);
    (void)archive_write_set_bytes_in_last_block(writer->archive, 1);
    if (archive_write_open2(writer->archive, writer, NULL, on_write, NULL, NULL) != ARCHIVE_OK)
        return fail_write(writer, err);
    return DLB_OK;
}

int dlb_tar_writer_add(struct dlb_tar_writer *writer, const char *name, const void *data,
                       size_t n_bytes, struct dlb_err *err)
{
    struct archive_entry *entry = archive_entry_new();
    int rc = DLB_OK;

    if (!entry)
        return dlb_fail(err, DLB_E_NOMEM, writer->path, DLB_NO_OFFSET, "no memory to write it");
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)n_bytes);
    archive_entry_set_mtime(entry, 0, 0);
    if (archive_write_header(writer->archive, entry) != ARCHIVE_OK ||
        (n_bytes > 0 && archive_write_data(writer->archive, data, n_bytes) != (la_ssize_t)n_bytes))
        rc = fail_write(writer, err);
    archive_entry_free(entry);
    return rc;
}

int dlb_tar_writer_close(struct dlb_tar_writer *writer, struct dlb_err *err)
{
    if (archive_write_close(writer->archive) != ARCHIVE_OK)
        return fail_write(writer, err);
    return DLB_OK;
}

void dlb_tar_writer_abandon(struct dlb_tar_writer *writer)
{
    if (!writer->archive)
        return;
    /* Closing is what frees the block (libarchive 3.6 leaks it when the archive was failed
     * instead), and it writes the end of the archive on the way. */
    writer->discard = true;
    (void)archive_write_close(writer->archive);
    (void)archive_write_free(writer->archive);
    writer->archive = NULL;
}

#endif
