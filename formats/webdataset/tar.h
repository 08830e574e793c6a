/* Tar archives through libarchive: tar.c reads, tar_write.c writes, and no other file knows it.
 *
 * Floor 2. One thread at a time for each struct. ustar, pax and GNU names and sizes are
 * libarchive's business, and so is unpacking: one libarchive reader unpacks (format "raw"), another
 * reads the tar archive from its blocks, so that what comes out can be counted, and read to the end
 * of the compressed stream, where its checksum is (zstd's is checked; libarchive passes over
 * gzip's). Compression goes by what the file begins with, not by its name. */
#ifndef DLB_FORMATS_WEBDATASET_TAR_H
#define DLB_FORMATS_WEBDATASET_TAR_H

#include "core/base/err.h"
#include "core/base/io.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_tar_pack { DLB_TAR_PLAIN, DLB_TAR_GZ, DLB_TAR_ZST };
extern const char *const dlb_tar_pack_names[]; /* "none", "gz", "zst"; ends with NULL */

/* What a compressed archive may unpack to: this many times its own size, and 16 MiB. Deflate
 * cannot do more than 1,032 to 1 (RFC 1951: 258 bytes for 2 bits), zstd can; data for training
 * seldom reach 10. */
#define DLB_TAR_MAX_EXPANSION 1000
#define DLB_TAR_FREE_BYTES (UINT64_C(16) << 20)
/* A zstd window larger than this is refused: libzstd's own limit, that of `zstd -d`. It is what a
 * worker's memory grows by. */
#define DLB_TAR_MAX_WINDOW_BYTES (UINT64_C(1) << 27)

struct archive;

struct dlb_tar {
    struct archive *archive;
    struct archive *unpacker; /* NULL: a plain archive */
    enum dlb_tar_pack pack;
    const struct dlb_io *io;
    const char *path; /* borrowed until the next open */
    int64_t handle;   /* -1: closed */
    uint8_t *block;   /* of the file: plain or compressed */
    size_t block_bytes, cap_bytes;
    size_t first_bytes;    /* in the block since open, and not handed to libarchive yet */
    size_t in_block_bytes; /* of the block, how much the last read filled */
    bool skip, drained;
    uint64_t file_bytes, stored_at_bytes; /* as it is stored: its size, where the next read goes */
    uint64_t at_bytes;     /* in the archive (unpacked): what libarchive was given so far */
    uint64_t max_bytes;    /* of the archive: its size, or what it may unpack to */
    uint64_t direct_bytes; /* from at_bytes on, already where they belong */
    uint64_t asked_bytes;  /* of the byte source, since open */
    uint64_t due_bytes;    /* where the current member's data end at the earliest */
    struct dlb_err io_err; /* what a callback could not hand through libarchive */
};

struct dlb_tar_member {
    const char *name; /* borrowed until the next dlb_tar_next */
    uint64_t n_bytes;
    uint64_t header_at, data_at; /* offsets in the archive (unpacked) */
    bool regular, folder, sparse;
};

/* What a zeroed struct becomes; also what it is opened with after a close, keeping its memory.
 * `skip`: pass over what is not read by seeking; else every byte is read. A compressed archive is
 * always read whole, in blocks of 1 MiB. */
int dlb_tar_open(struct dlb_tar *tar, const struct dlb_io *io, const char *path, size_t block_bytes,
                 bool skip, struct dlb_err *err);
void dlb_tar_close(struct dlb_tar *tar);
/* Frees the memory too. */
void dlb_tar_free(struct dlb_tar *tar);

/* DLB_END at the archive's end. DLB_E_FORMAT with the offset for what is cut short or damaged: an
 * offset in the file where unpacking fails, else one in the archive. */
int dlb_tar_next(struct dlb_tar *tar, struct dlb_tar_member *member, struct dlb_err *err);

/* Whether all of the member is there to be read; DLB_E_FORMAT when the archive ends inside it (or
 * it is more than a compressed one may unpack to), or it is sparse. Its name may still show that
 * the sample before it is complete, so dlb_tar_next does not ask. */
int dlb_tar_check(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                  struct dlb_err *err);

/* All of the current member's data: member->n_bytes of it. */
int dlb_tar_read(struct dlb_tar *tar, const struct dlb_tar_member *member, void *dst,
                 struct dlb_err *err);

/* After DLB_END: whether the two zero blocks that end an archive are missing, as in a file cut
 * between two members. */
bool dlb_tar_lacks_end(const struct dlb_tar *tar);

#endif
