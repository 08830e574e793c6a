#include "core/base/io.h"

#include "core/base/clock.h"
#include "core/base/pulse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dlb_pulse *dlb_pulse_opening;
_Thread_local struct dlb_io_watch *dlb_io_watch;

static enum dlb_io_kind kind_of(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? DLB_IO_FILE : S_ISDIR(st->st_mode) ? DLB_IO_DIR : DLB_IO_OTHER;
}

/* A link that points nowhere is DLB_IO_OTHER; so is a file that is removed during the listing. */
static int entry_of(int dir_fd, const struct dirent *de, const char *path,
                    struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct stat st;

    *entry = (struct dlb_io_entry){.name = de->d_name, .kind = DLB_IO_OTHER};
    if (de->d_type == DT_DIR) {
        entry->kind = DLB_IO_DIR;
        return DLB_OK;
    }
    if (de->d_type != DT_REG && de->d_type != DT_LNK && de->d_type != DT_UNKNOWN)
        return DLB_OK;
    if (fstatat(dir_fd, de->d_name, &st, 0) != 0) {
        if (errno == ENOENT || errno == ELOOP)
            return DLB_OK;
        char text[512];
        (void)snprintf(text, sizeof text, "%s/%s", path, de->d_name);
        return dlb_fail_errno(err, text, DLB_NO_OFFSET, "asking for the size");
    }
    entry->kind = kind_of(&st);
    entry->n_bytes = entry->kind == DLB_IO_FILE ? (uint64_t)st.st_size : 0;
    return DLB_OK;
}

static int posix_list(const char *path, dlb_io_visit *visit, void *ctx, struct dlb_err *err)
{
    int rc = DLB_OK;
    DIR *dir = opendir(path);

    if (!dir)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "opening the folder");
    while (rc == DLB_OK) {
        errno = 0;
        const struct dirent *de = readdir(dir);
        if (!de) {
            if (errno != 0)
                rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "listing the folder");
            break;
        }
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        struct dlb_io_entry entry;
        rc = entry_of(dirfd(dir), de, path, &entry, err);
        dlb_pulse_sign(dlb_pulse_opening);
        if (rc == DLB_OK)
            rc = visit(ctx, &entry, err);
    }
    (void)closedir(dir);
    return rc;
}

static int posix_stat(const char *path, enum dlb_io_kind *kind, uint64_t *n_bytes,
                      struct dlb_err *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot find it");
    dlb_pulse_sign(dlb_pulse_opening);
    *kind = kind_of(&st);
    *n_bytes = *kind == DLB_IO_FILE ? (uint64_t)st.st_size : 0;
    return DLB_OK;
}

/* With O_NONBLOCK, so that opening a pipe does not wait for its other end. For a regular file the
 * flag matters only where another process holds a lease on it: then it is opened without. */
static int open_reading(int dir, const char *name, int flags)
{
    int unwaiting = O_NONBLOCK;

    for (;;) {
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags | unwaiting);
        if (fd < 0 && errno == EWOULDBLOCK && unwaiting)
            unwaiting = 0;
        else if (fd >= 0 || errno != EINTR)
            return fd;
    }
}

int dlb_open_writing(const char *path, int flags, mode_t mode)
{
    for (;;) {
        int fd = open(path, O_CREAT | O_CLOEXEC | flags, mode);
        if (fd >= 0 || errno != EINTR)
            return fd;
    }
}

/* A folder passes: the read that follows fails with EISDIR. */
static int check_regular(int fd, const char *path, struct dlb_err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "asking what it is");
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_NOT_A_FILE, path, DLB_NO_OFFSET,
                    "is %s, not a regular file: copy its contents into a file",
                    S_ISFIFO(st.st_mode)   ? "a pipe"
                    : S_ISSOCK(st.st_mode) ? "a socket"
                                           : "a device");
}

static int posix_open_at(int64_t dir, const char *name, int64_t *handle, struct dlb_err *err)
{
    int fd = open_reading((int)dir, name, 0);

    if (fd < 0)
        return dlb_fail_errno(err, name, DLB_NO_OFFSET, "opening");
    *handle = fd;
    dlb_pulse_sign(dlb_pulse_opening);
    return DLB_OK;
}

static int posix_open(const char *path, int64_t *handle, struct dlb_err *err)
{
    int fd = open_reading(AT_FDCWD, path, 0);

    if (fd < 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "opening");
    int rc = check_regular(fd, path, err);
    if (rc != DLB_OK) {
        (void)close(fd);
        return rc;
    }
    *handle = fd;
    dlb_pulse_sign(dlb_pulse_opening);
    return DLB_OK;
}

_Static_assert(DLB_IO_NO_DIR == AT_FDCWD, "io.h has the kernel's number");

enum { DIRECT_ALIGN_BYTES = 4096 }; /* a multiple of every sector there is */

static int refuse_direct(struct dlb_err *err, const char *path)
{
    int code = errno;
    (void)dlb_fail(err, DLB_ERR_DIRECT_UNSUPPORTED, path, DLB_NO_OFFSET,
                   "the file system refuses reads past the page cache (O_DIRECT): %s",
                   strerrordesc_np(code));
    err->sys_errno = code;
    return DLB_E_CONFIG;
}

/* What offset, length and memory of direct reads must be multiples of. The kernel says so from
 * Linux 6.1 on, which is worth asking: with 4 KiB, a small sample that begins in the middle of a
 * block costs another block. */
static size_t direct_align(int fd)
{
#ifdef STATX_DIOALIGN
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 && (st.stx_mask & STATX_DIOALIGN)) {
        size_t align = st.stx_dio_offset_align > st.stx_dio_mem_align ? st.stx_dio_offset_align
                                                                      : st.stx_dio_mem_align;
        if (st.stx_dio_offset_align > 0 && align < DIRECT_ALIGN_BYTES)
            return align;
    }
#else
    (void)fd;
#endif
    return DIRECT_ALIGN_BYTES;
}

static int posix_open_direct(const char *path, int64_t *handle, size_t *align_bytes,
                             struct dlb_err *err)
{
    int64_t opened = -1;
    int rc = posix_open(path, &opened, err);

    if (rc != DLB_OK)
        return rc;
    int flags = fcntl((int)opened, F_GETFL);
    /* Some file systems take the flag and refuse the read, so one block is read. */
    void *block = aligned_alloc(DIRECT_ALIGN_BYTES, DIRECT_ALIGN_BYTES);
    if (!block)
        rc = dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for a block of the file");
    else if (flags < 0 || fcntl((int)opened, F_SETFL, flags | O_DIRECT) != 0 ||
             pread((int)opened, block, DIRECT_ALIGN_BYTES, 0) < 0)
        rc = refuse_direct(err, path);
    free(block);
    if (rc != DLB_OK) {
        (void)close((int)opened);
        return rc;
    }
    *handle = opened;
    *align_bytes = direct_align((int)opened);
    return DLB_OK;
}

static int posix_open_at_direct(int64_t dir, const char *name, int64_t *handle, struct dlb_err *err)
{
    int fd = open_reading((int)dir, name, O_DIRECT);

    if (fd < 0)
        return errno == EINVAL ? refuse_direct(err, name)
                               : dlb_fail_errno(err, name, DLB_NO_OFFSET, "opening");
    *handle = fd;
    return DLB_OK;
}

static int posix_open_dir(const char *path, int64_t *handle, struct dlb_err *err)
{
    int fd = open_reading(AT_FDCWD, path, O_DIRECTORY);

    if (fd < 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "opening the folder");
    *handle = fd;
    return DLB_OK;
}

static int posix_pread(int64_t handle, void *dst, size_t n_bytes, uint64_t offset_bytes,
                       size_t *n_read, const char *path, struct dlb_err *err)
{
    struct dlb_io_watch *watch = dlb_io_watch;
    size_t done = 0;

    while (done < n_bytes) {
        uint64_t start_ns = watch ? dlb_now_ns() : 0;
        ssize_t n =
            pread((int)handle, (char *)dst + done, n_bytes - done, (off_t)(offset_bytes + done));
        if (watch && n > 0)
            watch->request(watch, dlb_now_ns() - start_ns, (size_t)n);
        if (n == 0)
            break;
        if (n < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EINVAL && done > 0)
                break; /* a direct read reached the end of the file, which is not aligned */
            return dlb_fail_errno(err, path, offset_bytes + done, "reading");
        }
        done += (size_t)n;
        dlb_pulse_sign(dlb_pulse_opening);
    }
    *n_read = done;
    return DLB_OK;
}

static void posix_sequential(int64_t handle)
{
    (void)posix_fadvise((int)handle, 0, 0, POSIX_FADV_SEQUENTIAL);
}

static int posix_size(int64_t handle, uint64_t *n_bytes, const char *path, struct dlb_err *err)
{
    struct stat st;

    if (fstat((int)handle, &st) != 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "asking for the size");
    *n_bytes = (uint64_t)st.st_size;
    return DLB_OK;
}

static int posix_fd(int64_t handle)
{
    return (int)handle;
}

static void posix_close(int64_t handle)
{
    (void)close((int)handle);
}

const struct dlb_io dlb_io_posix = {
    .name = "posix",
    .list = posix_list,
    .stat = posix_stat,
    .open = posix_open,
    .open_at = posix_open_at,
    .open_dir = posix_open_dir,
    .open_direct = posix_open_direct,
    .open_at_direct = posix_open_at_direct,
    .pread = posix_pread,
    .sequential = posix_sequential,
    .size = posix_size,
    .fd = posix_fd,
    .close = posix_close,
};

/* Grows by doubling and reads to the end, because files in /proc say that their size is 0. */
static int read_all(int fd, const char *path, size_t max_bytes, char **out, size_t *n_bytes,
                    struct dlb_err *err)
{
    size_t len = 0, cap = 0;
    char *text = NULL;

    for (;;) {
        if (len + 1 >= cap) {
            size_t more = cap ? cap * 2 : 4096;
            char *grown = realloc(text, more);
            if (!grown) {
                free(text);
                return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory to read it");
            }
            text = grown;
            cap = more;
        }
        ssize_t n = read(fd, text + len, cap - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            free(text);
            return dlb_fail_errno(err, path, len, "reading");
        }
        len += (size_t)n;
        if (n == 0)
            break;
        if (len > max_bytes) {
            free(text);
            return dlb_fail(err, DLB_ERR_FILE_TOO_LARGE, path, DLB_NO_OFFSET,
                            "is larger than %zu bytes, the most that such a file may have",
                            max_bytes);
        }
    }
    text[len] = '\0';
    *out = text;
    *n_bytes = len;
    return DLB_OK;
}

char *dlb_path_join(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

int dlb_read_file_at(int folder, const char *name, const char *path, size_t max_bytes, char **out,
                     size_t *n_bytes, struct dlb_err *err)
{
    int fd = open_reading(folder, name, 0);

    if (fd < 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "opening");
    int rc = check_regular(fd, path, err);
    if (rc == DLB_OK)
        rc = read_all(fd, path, max_bytes, out, n_bytes, err);
    (void)close(fd);
    return rc;
}

int dlb_read_file(const char *path, size_t max_bytes, char **out, size_t *n_bytes,
                  struct dlb_err *err)
{
    return dlb_read_file_at(AT_FDCWD, path, path, max_bytes, out, n_bytes, err);
}
