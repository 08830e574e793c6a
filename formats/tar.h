/* Tar archives through libarchive: the only file that knows it.
 *
 * Floor 2. One thread at a time for each struct. ustar, pax and GNU names and sizes are
 * libarchive's business; compressed archives are refused. */
#ifndef DLB_FORMATS_TAR_H
#define DLB_FORMATS_TAR_H

#include "bench/base/err.h"
#include "bench/base/io.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive;

struct dlb_tar {
    struct archive *archive;
    const struct dlb_io *io;
    const char *path; /* borrowed until the next open */
    int64_t handle;   /* -1: closed */
    uint8_t *block;
    size_t block_bytes, in_block_bytes; /* of the block, how much the last read filled */
    bool skip;
    uint64_t file_bytes, at_bytes; /* where the next read goes: the block ends there */
    uint64_t direct_bytes;         /* from at_bytes on, already where they belong */
    uint64_t asked_bytes;          /* of the byte source, since open */
    uint64_t due_bytes;            /* where the current member's data end at the earliest */
    struct dlb_err io_err;         /* what a callback could not hand through libarchive */
};

struct dlb_tar_member {
    const char *name; /* borrowed until the next dlb_tar_next */
    uint64_t n_bytes;
    uint64_t header_at, data_at; /* offsets in the archive */
    bool regular, sparse;
};

/* What a zeroed struct becomes; also what it is opened with after a close, keeping its memory.
 * `skip`: pass over what is not read by seeking; else every byte is read. */
int dlb_tar_open(struct dlb_tar *tar, const struct dlb_io *io, const char *path, size_t block_bytes,
                 bool skip, struct dlb_err *err);
void dlb_tar_close(struct dlb_tar *tar);
/* Frees the memory too. */
void dlb_tar_free(struct dlb_tar *tar);

/* DLB_END at the archive's end. DLB_E_FORMAT with the offset for what is cut short or damaged. */
int dlb_tar_next(struct dlb_tar *tar, struct dlb_tar_member *member, struct dlb_err *err);

/* Whether all of the member is there to be read; DLB_E_FORMAT when the archive ends inside it, or
 * it is sparse. Its name may still show that the sample before it is complete, so dlb_tar_next does
 * not ask. */
int dlb_tar_check(const struct dlb_tar *tar, const struct dlb_tar_member *member,
                  struct dlb_err *err);

/* All of the current member's data: member->n_bytes of it. */
int dlb_tar_read(struct dlb_tar *tar, const struct dlb_tar_member *member, void *dst,
                 struct dlb_err *err);

/* After DLB_END: whether the two zero blocks that end an archive are missing, as in a file cut
 * between two members. */
bool dlb_tar_lacks_end(const struct dlb_tar *tar);

/* Writing: ustar, no owners and no times, so that equal content gives equal bytes. */
struct dlb_tar_writer {
    struct archive *archive;
    const char *path; /* for messages; borrowed */
    int fd;           /* borrowed */
    int write_errno;
    bool discard; /* abandoned: what libarchive still wants to write goes nowhere */
};
int dlb_tar_writer_open(struct dlb_tar_writer *writer, int fd, const char *path,
                        struct dlb_err *err);
int dlb_tar_writer_add(struct dlb_tar_writer *writer, const char *name, const void *data,
                       size_t n_bytes, struct dlb_err *err);
int dlb_tar_writer_close(struct dlb_tar_writer *writer, struct dlb_err *err); /* writes the end */
void dlb_tar_writer_abandon(struct dlb_tar_writer *writer); /* after any of them; idempotent */

#endif
