/* One file that gen writes: whole or not at all, and past the page cache where that can be done.
 *
 * Floor 2. Any thread, each file by one. */
#ifndef DLB_FORMATS_GENERATE_FILE_H
#define DLB_FORMATS_GENERATE_FILE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A system call failed while writing data: as dlb_fail_errno, with advice when the disk is full. */
int dlb_gen_fail_write(struct dlb_err *err, const char *path, uint64_t offset_bytes,
                       const char *doing);

/* mkdir -p. */
int dlb_gen_make_folder(const char *path, struct dlb_err *err);

/* Written in chunks with O_DIRECT. Through the page cache, writing would look as fast as memory,
 * and later reads that should be cold would find the data cached. The page cache is used where the
 * file system refuses O_DIRECT, for the last part of a chunk, and for files smaller than a chunk,
 * where opening costs more than writing.
 *
 * After a failed open there is nothing to finish. finish takes the status of the writing so far,
 * keeps the file only if all succeeded, and returns the first failure. Nothing is synced here: a
 * data set is synced once, at its end. */
struct dlb_gen_file {
    int fd;
    const char *path;  /* borrowed */
    int folder;        /* that holds it; AT_FDCWD: the names are paths */
    const char *name;  /* below the folder; borrowed */
    char *temporary;   /* name while it is written; owned; NULL: it has no name */
    uint8_t *chunk;    /* owned; NULL until the first write */
    size_t n_chunk;    /* bytes in it */
    uint64_t at_bytes; /* of the chunk in the file */
    bool direct, tried;
};
int dlb_gen_file_open(struct dlb_gen_file *file, const char *path, struct dlb_err *err);
/* A file without a name in `folder`, to measure writing. It vanishes when it is closed or when this
 * process ends; finish never keeps it. */
int dlb_gen_file_open_nameless(struct dlb_gen_file *file, const char *folder, struct dlb_err *err);
int dlb_gen_file_write(struct dlb_gen_file *file, const void *data, size_t n_bytes,
                       struct dlb_err *err);
/* Overwrites bytes that were written before. Afterwards only the rest of the file may follow. */
int dlb_gen_file_patch(struct dlb_gen_file *file, uint64_t offset_bytes, const void *data,
                       size_t n_bytes, struct dlb_err *err);
int dlb_gen_file_finish(struct dlb_gen_file *file, int rc, struct dlb_err *err);

/* A whole file at once. `root`: a folder above it; links below are not followed, they fail. NULL:
 * the folder that holds it may be behind a link. */
int dlb_gen_write_file(const char *root, const char *path, const void *data, size_t n_bytes,
                       struct dlb_err *err);

/* The hidden path beside `path` that is written first and then renamed to it; malloced; NULL when
 * memory is short. */
char *dlb_gen_temporary(const char *path);

#endif
