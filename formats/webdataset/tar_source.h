/* The bytes of a tar archive: a file's, or what they unpack to.
 *
 * Floor 2, private to tar.h. One thread at a time for each struct. */
#ifndef DLB_FORMATS_WEBDATASET_TAR_SOURCE_H
#define DLB_FORMATS_WEBDATASET_TAR_SOURCE_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/webdataset/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A compressed archive may unpack to this many times its own size plus 16 MiB. Deflate cannot
 * exceed 1,032 to 1 (RFC 1951: 258 bytes for 2 bits), zstd can; training data seldom reach 10. */
#define DLB_TAR_MAX_EXPANSION 1000
#define DLB_TAR_FREE_BYTES (UINT64_C(16) << 20)
/* tar pads an archive to records of 10 KiB, or of 512 KiB with large blocking factors. */
#define DLB_TAR_MOST_PADDING_BYTES (UINT64_C(1) << 20)
/* A larger zstd window is refused: the limit of libzstd and `zstd -d`. A worker's memory grows by
 * the window. */
#define DLB_TAR_MAX_WINDOW_BYTES (UINT64_C(1) << 27)

struct archive;

struct dlb_tar_source {
    struct archive *unpacker; /* NULL: a plain archive */
    enum dlb_tar_pack pack;
    const struct dlb_io *io;
    const char *path; /* borrowed until the next open */
    int64_t handle;   /* -1: closed */
    uint8_t *block;   /* of the file: plain or compressed */
    size_t block_bytes, cap_bytes;
    size_t first_bytes; /* read into the block by open, and not passed to libarchive yet */
    bool skip, drained;
    uint64_t file_bytes, stored_at_bytes; /* of the file: its size, offset of the next read */
    uint64_t at_bytes;     /* offset in the archive (unpacked) up to which libarchive was fed */
    uint64_t max_bytes;    /* of the archive: its size, or the limit of unpacking */
    uint64_t asked_bytes;  /* read from the byte source since open */
    uint64_t behind_bytes; /* offset of the first byte behind the end mark that is not 0; 0: none */
    const uint8_t *piece;  /* of the unpacked archive, the last one; n_piece_bytes */
    size_t n_piece_bytes;
    struct dlb_err io_err; /* of a callback: libarchive cannot pass it on */
};

/* Opens the file at in->path, reads its first block, and begins to unpack it if that is compressed.
 * `in` has io, path, skip and the block of an earlier use; all else is 0. */
int dlb_tar_source_open(struct dlb_tar_source *in, size_t block_bytes, struct dlb_err *err);
void dlb_tar_source_close(struct dlb_tar_source *in);
/* Frees the block of a closed one. */
void dlb_tar_source_free(struct dlb_tar_source *in);

/* The file's block at this offset; open has read the first. An error is in in->io_err. */
int dlb_tar_source_fetch(struct dlb_tar_source *in, uint64_t at_bytes, size_t *n_read);

/* The next piece of an archive that is being unpacked; *n_bytes 0 at its end. An error is in
 * in->io_err. */
int dlb_tar_source_unpack(struct dlb_tar_source *in, const void **piece, size_t *n_bytes);

/* Padding follows the end mark of an unpacked archive, and then the stream's checksum: reads to its
 * end. DLB_END, or how unpacking failed. Fills behind_bytes. */
int dlb_tar_source_drain(struct dlb_tar_source *in, uint64_t mark_bytes, struct dlb_err *err);

/* Fills behind_bytes from the first MiB behind the end mark of a plain archive. */
int dlb_tar_source_look_behind(struct dlb_tar_source *in, uint64_t mark_bytes, struct dlb_err *err);

int dlb_tar_fail_expands(const struct dlb_tar_source *in, struct dlb_err *err);

#endif
