#include "formats/webdataset/tar_write.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "formats/generate/file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <unistd.h>

enum { WRITE_BLOCK_BYTES = 1 << 20, MAX_PIECE_BYTES = 1 << 30 };

static la_ssize_t on_write(struct archive *archive, void *ctx, const void *data, size_t n_bytes)
{
    struct dlb_tar_writer *writer = ctx;
    ssize_t n;

    if (writer->discard)
        return (la_ssize_t)n_bytes;
    if (writer->file) {
        if (dlb_gen_file_write(writer->file, data, n_bytes, &writer->why) == DLB_OK)
            return (la_ssize_t)n_bytes;
        archive_set_error(archive, EIO, "write failed");
        return -1;
    }
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
    if (writer->why.status != DLB_OK) {
        *err = writer->why;
        return (int)err->status;
    }
    if (writer->write_errno) {
        errno = writer->write_errno;
        return dlb_gen_fail_write(err, writer->path, DLB_NO_OFFSET, "writing");
    }
    const char *what = archive_error_string(writer->archive);
    return dlb_fail(err, DLB_ERR_TAR_WRITE_FAILED, writer->path, DLB_NO_OFFSET,
                    "writing the tar archive: %s", what ? what : "unknown error");
}

static int add_filter(struct dlb_tar_writer *writer, enum dlb_tar_pack pack, struct dlb_err *err)
{
    int rc = ARCHIVE_OK;

    if (pack == DLB_TAR_GZ)
        rc = archive_write_add_filter_gzip(writer->archive);
    else if (pack == DLB_TAR_ZST)
        rc = archive_write_add_filter_zstd(writer->archive);
    /* A warning means that libarchive would run another program. */
    if (rc != ARCHIVE_OK)
        return dlb_fail(err, DLB_ERR_MISSING, writer->path, DLB_NO_OFFSET,
                        "this libarchive was built without %s", dlb_tar_pack_names[pack]);
    if (pack == DLB_TAR_GZ) /* equal content gives equal bytes */
        (void)archive_write_set_filter_option(writer->archive, "gzip", "timestamp", NULL);
    return DLB_OK;
}

int dlb_tar_writer_open(struct dlb_tar_writer *writer, struct dlb_gen_file *file, int fd,
                        const char *path, enum dlb_tar_pack pack, struct dlb_err *err)
{
    *writer = (struct dlb_tar_writer){
        .archive = archive_write_new(), .path = path, .fd = fd, .file = file};
    if (!writer->archive)
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory to write it");
    (void)archive_write_set_format_ustar(writer->archive);
    int rc = add_filter(writer, pack, err);
    if (rc != DLB_OK)
        return rc;
    (void)archive_write_set_bytes_per_block(writer->archive, WRITE_BLOCK_BYTES);
    (void)archive_write_set_bytes_in_last_block(writer->archive, 1);
    if (archive_write_open2(writer->archive, writer, NULL, on_write, NULL, NULL) != ARCHIVE_OK)
        return fail_write(writer, err);
    return DLB_OK;
}

/* libarchive takes less than 2 GiB in one call, and may take less than it was given. */
static int write_data(struct dlb_tar_writer *writer, const uint8_t *data, size_t n_bytes,
                      struct dlb_err *err)
{
    while (n_bytes > 0) {
        size_t piece = n_bytes < MAX_PIECE_BYTES ? n_bytes : MAX_PIECE_BYTES;
        la_ssize_t n = archive_write_data(writer->archive, data, piece);
        if (n <= 0)
            return fail_write(writer, err);
        data += n;
        n_bytes -= (size_t)n;
    }
    return DLB_OK;
}

int dlb_tar_writer_add(struct dlb_tar_writer *writer, const char *name, const void *data,
                       size_t n_bytes, struct dlb_err *err)
{
    struct archive_entry *entry = archive_entry_new();
    int rc;

    if (!entry)
        return dlb_fail(err, DLB_ERR_NOMEM, writer->path, DLB_NO_OFFSET,
                        "out of memory to write it");
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)n_bytes);
    archive_entry_set_mtime(entry, 0, 0);
    if (archive_write_header(writer->archive, entry) != ARCHIVE_OK)
        rc = fail_write(writer, err);
    else
        rc = write_data(writer, data, n_bytes, err);
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
    /* Closing frees the block (libarchive 3.6 leaks it after archive_write_fail), but also writes
     * the end of the archive, which is discarded. */
    writer->discard = true;
    (void)archive_write_close(writer->archive);
    (void)archive_write_free(writer->archive);
    writer->archive = NULL;
}

#endif
