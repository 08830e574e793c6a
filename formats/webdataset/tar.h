/* Tar archives through libarchive: tar.c reads the bytes that tar_source.c fetches and unpacks, and
 * tar_write.c writes; no other file includes it.
 *
 * Floor 2. One thread at a time for each struct. libarchive handles ustar, pax and GNU headers and
 * unpacking. One libarchive reader unpacks (format "raw"), a second one reads the tar archive from
 * its blocks. So unpacked bytes can be counted, and the compressed stream is read to its end, where
 * its checksum is (zstd's is checked; libarchive ignores gzip's). The file's first bytes tell the
 * compression, not its name. */
#ifndef DLB_FORMATS_WEBDATASET_TAR_H
#define DLB_FORMATS_WEBDATASET_TAR_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/webdataset/tar_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive;

struct dlb_tar {
    struct archive *archive;
    struct dlb_tar_source in;
    size_t in_block_bytes; /* how much of the source's block the last read filled */
    uint64_t direct_bytes; /* from in.at_bytes on, already read to their destination */
    uint64_t
        header_at_bytes; /* of the last header; after DLB_END, where the next would have been */
    uint64_t due_bytes;  /* the earliest end of the current member's data */
};

struct dlb_tar_member {
    const char *name; /* borrowed until the next dlb_tar_next */
    uint64_t n_bytes;
    uint64_t header_at, data_at; /* offsets in the archive (unpacked) */
    bool regular, folder, sparse;
};

/* Opens a zeroed struct, or one that was closed, whose memory is reused. `skip`: seek over data
 * that is not read; else every byte is read. A compressed archive is always read whole, in blocks
 * of 1 MiB. */
int dlb_tar_open(struct dlb_tar *tar, const struct dlb_io *io, const char *path, size_t block_bytes,
                 bool skip, struct dlb_err *err);
void dlb_tar_close(struct dlb_tar *tar);
/* Frees the memory too. */
void dlb_tar_free(struct dlb_tar *tar);

/* DLB_END at the archive's end. DLB_E_FORMAT for an archive that is cut short or damaged; the
 * offset is one in the file where unpacking failed, else one in the archive. */
int dlb_tar_next(struct dlb_tar *tar, struct dlb_tar_member *member, struct dlb_err *err);

/* Whether the whole member can be read. DLB_E_FORMAT when the archive ends inside it (or it exceeds
 * the limit of unpacking), or it is sparse. dlb_tar_next does not check this, because even such a
 * member's name may show that the sample before it is complete. */
int dlb_tar_check(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                  struct dlb_err *err);

/* Reads all of the current member's data: member->n_bytes. */
int dlb_tar_read(struct dlb_tar *tar, const struct dlb_tar_member *member, void *dst,
                 struct dlb_err *err);

/* After DLB_END: whether the two zero blocks at an archive's end are missing, as in a file that was
 * cut between two members. */
bool dlb_tar_lacks_end(const struct dlb_tar *tar);

/* After DLB_END: where, behind the end mark, bytes follow that are not zero, as in archives joined
 * by cat; 0: nowhere. Looks at the first MiB. Padding is zero. */
int dlb_tar_behind_end(struct dlb_tar *tar, uint64_t *at_bytes, struct dlb_err *err);

/* After DLB_END: how many bytes there are from the end mark on, whatever they hold. */
uint64_t dlb_tar_tail_bytes(const struct dlb_tar *tar);

#endif
