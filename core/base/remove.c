#include "core/base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_DEPTH 8
#define BUFFER_BYTES 2048 /* of the stack, at each depth */

struct removal {
    dlb_remove_goes *goes; /* NULL: everything */
    void *ctx;
};

static void remove_at(const struct removal *r, int at_fd, const char *name, int depth);

/* getdents64(2) instead of readdir(3): opendir allocates its buffer. */
static void empty_folder(const struct removal *r, int fd, int depth)
{
    _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
    long n_bytes;

    while ((n_bytes = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n_bytes;) {
            const struct dirent64 *entry = (const void *)(buffer + at);
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                remove_at(r, fd, entry->d_name, depth);
            at += entry->d_reclen;
        }
}

static int open_folder(int at_fd, const char *name)
{
    return (int)TEMP_FAILURE_RETRY(
        openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void remove_at(const struct removal *r, int at_fd, const char *name, int depth)
{
    if ((r->goes && !r->goes(r->ctx, at_fd, name, depth)) || unlinkat(at_fd, name, 0) == 0 ||
        (errno != EISDIR && errno != EPERM) || depth == MAX_DEPTH)
        return;
    int fd = open_folder(at_fd, name);
    if (fd < 0)
        return;
    empty_folder(r, fd, depth + 1);
    (void)close(fd);
    (void)unlinkat(at_fd, name, AT_REMOVEDIR);
}

void dlb_remove_tree(int at_fd, const char *name)
{
    remove_at(&(struct removal){NULL, NULL}, at_fd, name, 0);
}

void dlb_remove_entries(int folder, dlb_remove_goes *goes, void *ctx)
{
    int fd = open_folder(folder, "."); /* with a position of its own */
    if (fd < 0)
        return;
    empty_folder(&(struct removal){goes, ctx}, fd, 1);
    (void)close(fd);
}
