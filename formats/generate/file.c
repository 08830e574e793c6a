#include "formats/generate/file.h"

#include "core/base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A chunk is large enough for one thread's consecutive writes to keep a disk busy. It is a multiple
 * of 4 KiB, the largest alignment of offset, length and memory that O_DIRECT asks for on Linux. */
#define CHUNK_BYTES ((size_t)1 << 20)
#define ALIGN_BYTES 4096

int dlb_gen_fail_write(struct dlb_err *err, const char *path, uint64_t offset_bytes,
                       const char *doing)
{
    int code = errno;
    if (code == ENOSPC || code == EDQUOT) {
        (void)dlb_fail(err, DLB_ERR_NO_SPACE, path, offset_bytes,
                       "%s: %s; make room and run the same gen again, it resumes from here", doing,
                       code == ENOSPC ? "the disk is full" : "the disk quota is used up");
        err->sys_errno = code;
        return DLB_E_IO;
    }
    return dlb_fail_errno(err, path, offset_bytes, doing);
}

int dlb_gen_make_folder(const char *path, struct dlb_err *err)
{
    char *part = strdup(path);
    int rc = DLB_OK;

    if (!part)
        return dlb_fail_memory(err, path, strlen(path) + 1);
    for (char *end = part + 1; rc == DLB_OK; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            rc = dlb_gen_fail_write(err, part, DLB_NO_OFFSET, "making the folder");
        *end = kept;
        if (kept == '\0')
            break;
    }
    free(part);
    return rc;
}

char *dlb_gen_temporary(const char *path)
{
    char *temporary = NULL;
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash + 1 - path) : 0;

    return asprintf(&temporary, "%.*s.%s.part", n, path, path + n) < 0 ? NULL : temporary;
}

static void set_direct(struct dlb_gen_file *file, bool direct)
{
    int flags = fcntl(file->fd, F_GETFL);
    int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;

    file->direct = flags >= 0 && fcntl(file->fd, F_SETFL, wanted) == 0 && direct;
    file->tried = true;
}

/* What a gen that was killed left under the name is removed: whatever else has that name, its bytes
 * are not written to. */
static int open_temporary(const struct dlb_gen_file *file)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(file->folder, file->temporary, flags, 0666);

    if (fd < 0 && errno == EEXIST && unlinkat(file->folder, file->temporary, 0) == 0)
        fd = openat(file->folder, file->temporary, flags, 0666);
    return fd;
}

static void close_folder(const struct dlb_gen_file *file)
{
    if (file->folder >= 0)
        (void)close(file->folder);
}

int dlb_gen_file_open(struct dlb_gen_file *file, const char *path, struct dlb_err *err)
{
    *file = (struct dlb_gen_file){.fd = -1,
                                  .path = path,
                                  .folder = AT_FDCWD,
                                  .name = path,
                                  .temporary = dlb_gen_temporary(path)};
    if (!file->temporary)
        return dlb_fail_memory(err, path, strlen(path) + sizeof "..part");
    file->fd = open_temporary(file);
    if (file->fd >= 0)
        return DLB_OK;
    int rc = dlb_gen_fail_write(err, path, DLB_NO_OFFSET, "creating it");
    free(file->temporary);
    return rc;
}

static int open_beneath(struct dlb_gen_file *file, const char *root, const char *path,
                        struct dlb_err *err)
{
    const char *below = path + strlen(root) + (root[strlen(root) - 1] != '/');

    *file = (struct dlb_gen_file){.fd = -1, .path = path, .folder = -1};
    int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at >= 0) {
        file->folder = dlb_beneath(at, below, &file->name);
        int code = errno;
        (void)close(at);
        errno = code;
    }
    if (file->folder >= 0 && !(file->temporary = dlb_gen_temporary(file->name))) {
        close_folder(file);
        return dlb_fail_memory(err, path, strlen(path) + sizeof "..part");
    }
    if (file->folder >= 0)
        file->fd = open_temporary(file);
    if (file->fd >= 0)
        return DLB_OK;
    int rc = dlb_gen_fail_write(err, path, DLB_NO_OFFSET, "creating it");
    close_folder(file);
    free(file->temporary);
    return rc;
}

int dlb_gen_file_open_nameless(struct dlb_gen_file *file, const char *folder, struct dlb_err *err)
{
    char *name = NULL;

    *file = (struct dlb_gen_file){.fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600),
                                  .path = folder,
                                  .folder = AT_FDCWD};
    if (file->fd >= 0)
        return DLB_OK;
    /* Not every file system has such files; elsewhere the name is removed at once. */
    if (asprintf(&name, "%s/.dlbench-speed-%d", folder, (int)getpid()) < 0)
        return dlb_fail_memory(err, folder, strlen(folder) + sizeof "/.dlbench-speed-");
    file->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = file->fd >= 0
                 ? DLB_OK
                 : dlb_gen_fail_write(err, folder, DLB_NO_OFFSET, "creating a file there");
    if (rc == DLB_OK)
        (void)unlink(name);
    free(name);
    return rc;
}

/* Some file systems accept O_DIRECT and then refuse the write. */
static int write_at(struct dlb_gen_file *file, const uint8_t *data, size_t n_bytes,
                    uint64_t offset_bytes, struct dlb_err *err)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = pwrite(file->fd, data + done, n_bytes - done, (off_t)(offset_bytes + done));
        if (n >= 0)
            done += (size_t)n;
        else if (errno == EINVAL && file->direct)
            set_direct(file, false);
        else if (errno != EINTR)
            return dlb_gen_fail_write(err, file->path, offset_bytes + done, "writing");
    }
    return DLB_OK;
}

static int flush(struct dlb_gen_file *file, struct dlb_err *err)
{
    bool whole = file->n_chunk == CHUNK_BYTES;

    if (whole && !file->tried)
        set_direct(file, true);
    else if (!whole && file->direct)
        set_direct(file, false);
    int rc = write_at(file, file->chunk, file->n_chunk, file->at_bytes, err);
    file->at_bytes += file->n_chunk;
    file->n_chunk = 0;
    return rc;
}

int dlb_gen_file_write(struct dlb_gen_file *file, const void *data, size_t n_bytes,
                       struct dlb_err *err)
{
    const uint8_t *from = data;
    int rc = DLB_OK;

    if (!file->chunk && !(file->chunk = aligned_alloc(ALIGN_BYTES, CHUNK_BYTES)))
        return dlb_fail_memory(err, file->path, CHUNK_BYTES);
    while (n_bytes > 0 && rc == DLB_OK) {
        size_t room = CHUNK_BYTES - file->n_chunk, n = n_bytes < room ? n_bytes : room;
        memcpy(file->chunk + file->n_chunk, from, n);
        file->n_chunk += n;
        from += n;
        n_bytes -= n;
        if (file->n_chunk == CHUNK_BYTES)
            rc = flush(file, err);
    }
    return rc;
}

int dlb_gen_file_patch(struct dlb_gen_file *file, uint64_t offset_bytes, const void *data,
                       size_t n_bytes, struct dlb_err *err)
{
    int rc = file->n_chunk > 0 ? flush(file, err) : DLB_OK;

    if (file->direct)
        set_direct(file, false);
    return rc == DLB_OK ? write_at(file, data, n_bytes, offset_bytes, err) : rc;
}

int dlb_gen_file_finish(struct dlb_gen_file *file, int rc, struct dlb_err *err)
{
    if (rc == DLB_OK && file->n_chunk > 0)
        rc = flush(file, err);
    if (close(file->fd) != 0 && rc == DLB_OK)
        rc = dlb_gen_fail_write(err, file->path, DLB_NO_OFFSET, "writing");
    if (rc == DLB_OK && file->temporary &&
        renameat(file->folder, file->temporary, file->folder, file->name) != 0)
        rc = dlb_gen_fail_write(err, file->path, DLB_NO_OFFSET, "renaming the finished file");
    if (rc != DLB_OK && file->temporary)
        (void)unlinkat(file->folder, file->temporary, 0);
    close_folder(file);
    free(file->chunk);
    free(file->temporary);
    return rc;
}

int dlb_gen_write_file(const char *root, const char *path, const void *data, size_t n_bytes,
                       struct dlb_err *err)
{
    struct dlb_gen_file file;
    int rc = root ? open_beneath(&file, root, path, err) : dlb_gen_file_open(&file, path, err);

    if (rc != DLB_OK)
        return rc;
    /* A file smaller than a chunk need not be copied into one. */
    rc = n_bytes < CHUNK_BYTES ? write_at(&file, data, n_bytes, 0, err)
                               : dlb_gen_file_write(&file, data, n_bytes, err);
    return dlb_gen_file_finish(&file, rc, err);
}
