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

bool dlb_stays_enter(struct dlb_stays *stays, int folder, const char *name, const char *path)
{
    if (unlinkat(folder, name, 0) == 0)
        return false;
    int code = errno;
    int fd = code == EISDIR || code == EPERM
                 ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    if (fd >= 0) {
        (void)close(fd);
        if (faccessat(folder, ".", W_OK, AT_EACCESS) !=
            0) /* it may be empty, and stays then, too */
            dlb_stays_note(stays, path, errno);
        return true;
    }
    dlb_stays_note(stays, path,
                   code == EISDIR || (code == EPERM && errno != ENOTDIR) ? errno : code);
    return false;
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
