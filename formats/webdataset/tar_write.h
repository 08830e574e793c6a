/* Writes tar archives through libarchive: ustar without owners and times, so that equal content
 * gives equal bytes (compressed: with the same libraries).
 *
 * Floor 2. One thread at a time for each struct. */
#ifndef DLB_FORMATS_WEBDATASET_TAR_WRITE_H
#define DLB_FORMATS_WEBDATASET_TAR_WRITE_H

#include "formats/generate/file.h"
#include "formats/webdataset/tar.h"

struct dlb_tar_writer {
    struct archive *archive;
    const char *path;          /* for messages; borrowed */
    int fd;                    /* borrowed */
    struct dlb_gen_file *file; /* used instead of fd, or NULL; borrowed */
    int write_errno;
    struct dlb_err why; /* the error of `file` */
    bool discard;       /* abandoned: ignore what libarchive still writes */
};
/* Writes to `file`; NULL: to `fd`. */
int dlb_tar_writer_open(struct dlb_tar_writer *writer, struct dlb_gen_file *file, int fd,
                        const char *path, enum dlb_tar_pack pack, struct dlb_err *err);
int dlb_tar_writer_add(struct dlb_tar_writer *writer, const char *name, const void *data,
                       size_t n_bytes, struct dlb_err *err);
int dlb_tar_writer_close(struct dlb_tar_writer *writer, struct dlb_err *err); /* writes the end */
void dlb_tar_writer_abandon(struct dlb_tar_writer *writer); /* after any of them; idempotent */

#endif
