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

static void remove_at(int at_fd, const char *name, int depth);

/* getdents64(2) instead of readdir(3): opendir allocates its buffer. */
static void empty_folder(int fd, int depth)
{
    _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
    long n_bytes;

    while ((n_bytes = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n_bytes;) {
            const struct dirent64 *entry = (const void *)(buffer + at);
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                remove_at(fd, entry->d_name, depth);
            at += entry->d_reclen;
        }
}

static void remove_at(int at_fd, const char *name, int depth)
{
    int fd;

    if (unlinkat(at_fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth == MAX_DEPTH)
        return;
    fd = (int)TEMP_FAILURE_RETRY(
        openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return;
    empty_folder(fd, depth + 1);
    (void)close(fd);
    (void)unlinkat(at_fd, name, AT_REMOVEDIR);
}

void dlb_remove_tree(int at_fd, const char *name)
{
    remove_at(at_fd, name, 0);
}
