#include "core/base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opens the folder that the first n letters name. Closes `at`. */
static int step(int at, const char *path, size_t n)
{
    char part[NAME_MAX + 1];

    int next = -1, code = EINVAL;
    if (n > 0 && n < sizeof part) {
        (void)snprintf(part, sizeof part, "%.*s", (int)n, path);
        if (strcmp(part, "..") != 0)
            next = (int)TEMP_FAILURE_RETRY(
                openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        code = strcmp(part, "..") != 0 ? errno : EINVAL;
    }
    (void)close(at);
    errno = code;
    return next;
}

int dlb_beneath(int root, const char *path, const char **name)
{
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);

    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1)
        at = step(at, path, (size_t)(slash - path));
    *name = path;
    if (at >= 0 && (*path == '\0' || strcmp(path, "..") == 0)) {
        (void)close(at);
        errno = EINVAL;
        return -1;
    }
    return at;
}
