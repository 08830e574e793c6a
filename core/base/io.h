/* Byte sources: where formats get their bytes.
 *
 * Floor 0. A struct dlb_io is a const table; POSIX is the only one so far. Formats use it and
 * never call open(2) themselves, so that object storage can be added without changing a format.
 * Handles are plain integers that survive fork(). On one handle pread may run on any number of
 * threads; other calls one at a time. */
#ifndef DLB_CORE_BASE_IO_H
#define DLB_CORE_BASE_IO_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum dlb_io_kind { DLB_IO_FILE, DLB_IO_DIR, DLB_IO_OTHER };

/* One entry of a folder. `name` is borrowed until the callback returns. A symbolic link counts as
 * what it points to. */
struct dlb_io_entry {
    const char *name;
    enum dlb_io_kind kind;
    uint64_t n_bytes; /* files only */
};

/* Anything but DLB_OK stops the listing, which then returns it. */
typedef int dlb_io_visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err);

#define DLB_IO_NO_DIR (-100) /* `name` is a path of its own then; the value of AT_FDCWD */

struct dlb_io {
    const char *name;
    /* Every entry of a folder but "." and "..", in no order. */
    int (*list)(const char *path, dlb_io_visit *visit, void *ctx, struct dlb_err *err);
    int (*stat)(const char *path, enum dlb_io_kind *kind, uint64_t *n_bytes, struct dlb_err *err);
    /* Refuses pipes, sockets and devices (NOT_A_FILE), without waiting for their other end. */
    int (*open)(const char *path, int64_t *handle, struct dlb_err *err);
    /* As open, but `name` is looked up below an open folder handle: no path walk per file. The
     * kind of file is not checked: a pipe in its place reads as an empty file. */
    int (*open_at)(int64_t dir, const char *name, int64_t *handle, struct dlb_err *err);
    int (*open_dir)(const char *path, int64_t *handle, struct dlb_err *err);
    /* As open, but reads go past the page cache: offset, length and memory of each are multiples of
     * *align_bytes. DLB_E_CONFIG, with the reason, where the file system refuses. Optional. */
    int (*open_direct)(const char *path, int64_t *handle, size_t *align_bytes, struct dlb_err *err);
    /* As open_at, with reads past the page cache, and without a trial read: for files beside one
     * that open_direct has opened. `dir` may be DLB_IO_NO_DIR. Optional, with open_direct. */
    int (*open_at_direct)(int64_t dir, const char *name, int64_t *handle, struct dlb_err *err);
    /* Reads until n_bytes or the end of the file; *n_read is how many. `path` is for messages. */
    int (*pread)(int64_t handle, void *dst, size_t n_bytes, uint64_t offset_bytes, size_t *n_read,
                 const char *path, struct dlb_err *err);
    /* Announces that the file will be read from start to end; the kernel then reads twice as far
     * ahead. Optional. */
    void (*sequential)(int64_t handle);
    int (*size)(int64_t handle, uint64_t *n_bytes, const char *path, struct dlb_err *err);
    int (*fd)(int64_t handle); /* a file descriptor for libraries that need one, or -1 */
    void (*close)(int64_t handle);
};

extern const struct dlb_io dlb_io_posix;

/* Called for each read(2) of dlb_io_posix in this thread that returned bytes, in order, with its
 * duration. Embedded in the struct that keeps the account. */
struct dlb_io_watch {
    void (*request)(struct dlb_io_watch *watch, uint64_t ns, size_t n_bytes);
};
/* Of the calling thread; NULL: reads are not timed. */
extern _Thread_local struct dlb_io_watch *dlb_io_watch;

/* "folder/name", malloced; NULL when memory is short. */
char *dlb_path_join(const char *folder, const char *name);

/* Reads a whole regular file of at most max_bytes into malloced memory, one terminating zero added;
 * caller frees. */
int dlb_read_file(const char *path, size_t max_bytes, char **out, size_t *n_bytes,
                  struct dlb_err *err);

/* The same for a name below an open folder; `path` is for messages. */
int dlb_read_file_at(int folder, const char *name, const char *path, size_t max_bytes, char **out,
                     size_t *n_bytes, struct dlb_err *err);

/* open(2) to write, which a signal does not end: a descriptor, or -1 and errno. O_CREAT and
 * O_CLOEXEC are added to `flags`. */
int dlb_open_writing(const char *path, int flags, mode_t mode);

/* Writes all n_bytes at the descriptor's position. `path` is for the error, which names the offset
 * in data; may be NULL. */
int dlb_write_all(int fd, const char *path, const void *data, size_t n_bytes, struct dlb_err *err);

/* Writes a file's contents to the descriptor, for one that memory should not hold whole. */
typedef int dlb_file_make(void *ctx, int fd, struct dlb_err *err);

struct dlb_file_out {
    const char *path;
    const void *data;
    size_t n_bytes;
    dlb_file_make *make; /* NULL: `data` is written */
    void *ctx;
};

/* Writes the folder of `path` to disk: a rename in it is durable only then. */
int dlb_sync_folder_of(const char *path, struct dlb_err *err);

/* Writes files atomically: temporary files beside them, PATH.<process>.tmp, fsync; then each is
 * renamed. A file that has such a name already is left alone: then it is PATH.<process>-1.tmp, and
 * so on. If a write fails, all files are what they were before. The exception is a file system that
 * can neither exchange two names nor link: there, files that were replaced before the failure stay
 * new. */
int dlb_write_files_atomic(const struct dlb_file_out *files, size_t n_files, struct dlb_err *err);

/* The same for one file. */
int dlb_write_file_atomic(const char *path, const void *data, size_t n_bytes, struct dlb_err *err);
int dlb_make_file_atomic(const char *path, dlb_file_make *make, void *ctx, struct dlb_err *err);

#endif
