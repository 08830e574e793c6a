/* One file that gen writes: whole or not at all, and past the page cache where that can be done.
 *
 * Floor 2. Any thread, each file by one. */
#ifndef DLB_FORMATS_GENERATE_FILE_H
#define DLB_FORMATS_GENERATE_FILE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A failed system call while writing data: as dlb_fail_errno, with advice when the disk is full. */
int dlb_gen_fail_write(struct dlb_err *err, const char *path, uint64_t offset_bytes,
                       const char *doing);

/* Written piece by piece, in chunks. Chunks go out with O_DIRECT: the page cache would take what is
 * written at the speed of memory, hold it back from reads that are to be cold, and give it to the
 * storage when it pleases. Where the file system refuses, and for what is left at the end, they go
 * through the page cache. A file below a chunk, always: opening costs more there than writing.
 *
 * A failed open leaves nothing to finish. finish takes how the writing went, keeps the file only if
 * all went well, and returns the first failure. Not synced: a data set is synced once, at its end.
 */
struct dlb_gen_file {
    int fd;
    const char *path;  /* borrowed */
    char *temporary;   /* owned; NULL: it has no name */
    uint8_t *chunk;    /* owned; NULL: nothing was written yet */
    size_t n_chunk;    /* bytes in it */
    uint64_t at_bytes; /* of the chunk in the file */
    bool direct, tried;
};
int dlb_gen_file_open(struct dlb_gen_file *file, const char *path, struct dlb_err *err);
/* A file without a name in `folder`, to try writing: it is gone when it is closed, or when this
 * process is, however that ends. finish keeps it in no case. */
int dlb_gen_file_open_nameless(struct dlb_gen_file *file, const char *folder, struct dlb_err *err);
int dlb_gen_file_write(struct dlb_gen_file *file, const void *data, size_t n_bytes,
                       struct dlb_err *err);
/* Changes what was written before. Only the end of the file may still come. */
int dlb_gen_file_patch(struct dlb_gen_file *file, uint64_t offset_bytes, const void *data,
                       size_t n_bytes, struct dlb_err *err);
int dlb_gen_file_finish(struct dlb_gen_file *file, int rc, struct dlb_err *err);

/* A whole file at once. */
int dlb_gen_write_file(const char *path, const void *data, size_t n_bytes, struct dlb_err *err);

/* The temporary that becomes `path` (hidden, beside it), malloced; NULL when memory is short. */
char *dlb_gen_temporary(const char *path);

#endif
