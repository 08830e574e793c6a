#include "formats/generate/stays.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void dlb_stays_note(struct dlb_stays *stays, const char *path, int code)
{
    if (stays->any)
        return;
    stays->any = true;
    stays->code = code;
    (void)snprintf(stays->path, sizeof stays->path, "%s", path);
}

void dlb_stays_foreign(struct dlb_stays *stays, int folder, const char *name, const char *path)
{
    struct stat st;

    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        dlb_stays_note(stays, path, 0);
    else if (errno != ENOENT)
        dlb_stays_note(stays, path, errno);
}

/* Opens the entry that unlinkat has refused with *code, if it is a folder. Else -1, and *code is
 * the reason why the entry stays. EPERM is said of folders (POSIX), and of files that are
 * immutable. */
static int open_refused(int folder, const char *name, int *code)
{
    if (*code != EISDIR && *code != EPERM)
        return -1;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOTDIR)
        *code = errno;
    return fd;
}

bool dlb_stays_enter(struct dlb_stays *stays, int folder, const char *name, const char *path)
{
    if (unlinkat(folder, name, 0) == 0)
        return false;
    int code = errno;
    int fd = open_refused(folder, name, &code);
    if (fd < 0) {
        dlb_stays_note(stays, path, code);
        return false;
    }
    (void)close(fd);
    /* Without the right to write in `folder` the entry stays, even if it is empty. */
    if (faccessat(folder, ".", W_OK, AT_EACCESS) != 0)
        dlb_stays_note(stays, path, errno);
    return true;
}

void dlb_stays_say(const struct dlb_stays *stays, const char *folder, struct dlb_err *err)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s%s%s", folder, stays->path[0] ? "/" : "", stays->path);
    if (stays->any && !stays->code) {
        (void)dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                       "convert did not write this: move it away, and remove the folder yourself");
        return;
    }
    errno = stays->any ? stays->code : ENOTEMPTY;
    (void)dlb_fail_errno(err, path, DLB_NO_OFFSET, "removing it");
    size_t len = strlen(err->what);
    (void)snprintf(err->what + len, sizeof err->what - len, "; %sremove the folder yourself",
                   err->code == DLB_ERR_TOO_MANY_FILES ? "raise the limit (ulimit -n), and "
                   : err->code == DLB_ERR_PERMISSION   ? "get the right to write there, and "
                                                       : "");
}
