#include "core/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int dlb_write_all(int fd, const char *path, const void *data, size_t n_bytes, struct dlb_err *err)
{
    size_t done = 0;

    while (done < n_bytes) {
        ssize_t n = write(fd, (const char *)data + done, n_bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dlb_fail_errno(err, path, done, "writing");
        done += (size_t)n;
    }
    return DLB_OK;
}

int dlb_sync_folder_of(const char *path, struct dlb_err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int rc = DLB_OK;

    if (!folder)
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for its folder's name");
    int fd = (int)TEMP_FAILURE_RETRY(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    /* Some network file systems cannot sync a folder and say EINVAL. There is no other way, so that
     * is not an error. */
    if (fd < 0 || (TEMP_FAILURE_RETRY(fsync(fd)) != 0 && errno != EINVAL))
        rc = dlb_fail_errno(err, folder, DLB_NO_OFFSET, "syncing the folder");
    if (fd >= 0)
        (void)close(fd);
    free(folder);
    return rc;
}

/* A file that is being written, and what becomes of its path. */
struct staged {
    char *temporary; /* the new file; after an exchange the old one */
    char *old;       /* a link to the old one, where the file system cannot exchange */
    enum { NOT_YET, MADE, EXCHANGED, REPLACED } done;
};

enum {
    MAX_TEMPORARIES = 100
}; /* of a path; more than one where a file has the first name already */

/* Owned; NULL when memory is short. */
static char *temporary_name(const char *path, int number)
{
    char *name = NULL;
    int n = number == 0 ? asprintf(&name, "%s.%ld.tmp", path, (long)getpid())
                        : asprintf(&name, "%s.%ld-%d.tmp", path, (long)getpid(), number);
    return n < 0 ? NULL : name;
}

/* Opens a file that was not there; -1: errno, with ENOMEM if there is no name. */
static int open_temporary(const char *path, char **name)
{
    int fd = -1;

    for (int i = 0; fd < 0 && i < MAX_TEMPORARIES; i++) {
        free(*name);
        *name = temporary_name(path, i);
        if (!*name) {
            errno = ENOMEM;
            return -1;
        }
        fd = dlb_open_writing(*name, O_WRONLY | O_EXCL | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) { /* what has the name is not ours */
        int code = errno;
        free(*name);
        *name = NULL;
        errno = code;
    }
    return fd;
}

static int write_temporary(struct staged *staged, const struct dlb_file_out *file,
                           struct dlb_err *err)
{
    int fd = open_temporary(file->path, &staged->temporary);

    if (fd < 0 && errno == ENOMEM)
        return dlb_fail(err, DLB_ERR_NOMEM, file->path, DLB_NO_OFFSET, "no memory to write it");
    if (fd < 0)
        return dlb_fail_errno(err, file->path, DLB_NO_OFFSET,
                              "creating a temporary file beside it");
    int rc = file->make ? file->make(file->ctx, fd, err)
                        : dlb_write_all(fd, file->path, file->data, file->n_bytes, err);
    if (rc == DLB_OK && TEMP_FAILURE_RETRY(fsync(fd)) != 0)
        rc = dlb_fail_errno(err, file->path, DLB_NO_OFFSET, "syncing it to disk");
    if (close(fd) != 0 && rc == DLB_OK)
        rc = dlb_fail_errno(err, file->path, DLB_NO_OFFSET, "closing it");
    return rc;
}

/* Gives the old file a second name, by which it can be put back; NULL where that is impossible. */
static char *link_old(const char *path)
{
    for (int i = 1; i < MAX_TEMPORARIES; i++) {
        char *name = temporary_name(path, i);
        if (name && linkat(AT_FDCWD, path, AT_FDCWD, name, 0) == 0)
            return name;
        int code = errno;
        free(name);
        if (!name || code != EEXIST)
            break;
    }
    return NULL;
}

static int put_in_place(struct staged *staged, const char *path, struct dlb_err *err)
{
    struct stat st;
    bool replaces = lstat(path, &st) == 0 && !S_ISDIR(st.st_mode);

    if (replaces && renameat2(AT_FDCWD, staged->temporary, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
        staged->done = EXCHANGED;
        return DLB_OK;
    }
    bool tries = !replaces || errno == EINVAL || errno == ENOSYS; /* cannot exchange */
    if (tries && replaces)
        staged->old = link_old(path);
    if (!tries || rename(staged->temporary, path) != 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "renaming the finished file");
    staged->done = replaces ? REPLACED : MADE;
    return DLB_OK;
}

static void put_back(struct staged *staged, const char *path)
{
    if (staged->done == EXCHANGED)
        (void)renameat2(AT_FDCWD, staged->temporary, AT_FDCWD, path, RENAME_EXCHANGE);
    else if (staged->done == MADE)
        (void)unlink(path);
    else if (staged->done == REPLACED && staged->old && rename(staged->old, path) == 0) {
        free(staged->old);
        staged->old = NULL;
    }
}

/* How much of the path is its folder, with the slash. */
static size_t folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool in_same_folder(const char *a, const char *b)
{
    return folder_len(a) == folder_len(b) && memcmp(a, b, folder_len(a)) == 0;
}

/* Each folder once. */
static int sync_folders(const struct dlb_file_out *files, size_t n_files, struct dlb_err *err)
{
    int rc = DLB_OK;

    for (size_t i = 0; i < n_files && rc == DLB_OK; i++) {
        size_t first = 0;
        while (first < i && !in_same_folder(files[first].path, files[i].path))
            first++;
        if (first == i)
            rc = dlb_sync_folder_of(files[i].path, err);
    }
    return rc;
}

static int rename_all(struct staged *staged, const struct dlb_file_out *files, size_t n_files,
                      struct dlb_err *err)
{
    struct dlb_err ignored;
    int rc = DLB_OK;

    for (size_t i = 0; i < n_files && rc == DLB_OK; i++)
        rc = put_in_place(&staged[i], files[i].path, err);
    if (rc == DLB_OK)
        rc = sync_folders(files, n_files, err);
    if (rc != DLB_OK) {
        for (size_t i = 0; i < n_files; i++)
            put_back(&staged[i], files[i].path);
        (void)sync_folders(files, n_files, &ignored);
    }
    return rc;
}

int dlb_write_files_atomic(const struct dlb_file_out *files, size_t n_files, struct dlb_err *err)
{
    struct staged *staged = calloc(n_files ? n_files : 1, sizeof *staged);
    int rc = DLB_OK;

    if (!staged)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "no memory for the files' names");
    for (size_t i = 0; i < n_files && rc == DLB_OK; i++)
        rc = write_temporary(&staged[i], &files[i], err);
    if (rc == DLB_OK)
        rc = rename_all(staged, files, n_files, err);
    for (size_t i = 0; i < n_files; i++) {
        if (staged[i].temporary)
            (void)unlink(staged[i].temporary); /* unfinished, or what the new file replaced */
        if (staged[i].old)
            (void)unlink(staged[i].old);
        free(staged[i].temporary);
        free(staged[i].old);
    }
    free(staged);
    return rc;
}

int dlb_write_file_atomic(const char *path, const void *data, size_t n_bytes, struct dlb_err *err)
{
    const struct dlb_file_out file = {.path = path, .data = data, .n_bytes = n_bytes};
    return dlb_write_files_atomic(&file, 1, err);
}

int dlb_make_file_atomic(const char *path, dlb_file_make *make, void *ctx, struct dlb_err *err)
{
    const struct dlb_file_out file = {.path = path, .make = make, .ctx = ctx};
    return dlb_write_files_atomic(&file, 1, err);
}
