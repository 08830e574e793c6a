#include "formats/convert/leftover.h"

#include "core/base/escape.h"
#include "core/base/io.h"
#include "core/base/mem.h"
#include "formats/convert/part.h"
#include "formats/generate/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct leftovers {
    const char *parent, *name;
    int folder; /* the parent, open */
    dlb_convert_left_fn *left;
    void *ctx;
};

static void tell(const struct leftovers *all, enum dlb_convert_left what, const char *name,
                 const struct dlb_err *why)
{
    char *path = dlb_mem_check(dlb_path_join(all->parent, name));

    if (all->left)
        all->left(all->ctx, what, path, why);
    free(path);
}

static void tell_kept(const struct leftovers *all, const char *name, const struct dlb_stays *stays)
{
    char *path = dlb_mem_check(dlb_path_join(all->parent, name));
    struct dlb_err why;

    dlb_stays_say(stays, path, &why);
    tell(all, DLB_CONVERT_KEPT, name, &why);
    free(path);
}

char *dlb_convert_old_name(const char *target, const char *pid)
{
    char *name = NULL;
    return asprintf(&name, "%s.old-%s", target, pid) < 0 ? NULL : name;
}

/* The inode of an entry; 0: it is not there. */
static uint64_t inode_of(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_ino : 0;
}

/* The target is neither the earlier data nor the new ones. */
static void tell_other(const struct leftovers *all, const char *old)
{
    char *path = dlb_mem_check(dlb_path_join(all->parent, old));
    struct dlb_err why;

    (void)dlb_fail(&why, DLB_ERR_TARGET_EXISTS, path, DLB_NO_OFFSET,
                   "holds what a killed convert was about to replace, and \"%.*s\" is somebody "
                   "else's now: remove or rename one of the two yourself",
                   DLB_CUT(all->name, 100));
    tell(all, DLB_CONVERT_KEPT, old, &why);
    free(path);
}

/* Of a process that was killed while it replaced the target in two steps. False: the earlier data
 * are still there under the name that they had in between. */
static bool settle_swap(const struct leftovers *all, const struct dlb_part_swap *swap,
                        const char *pid)
{
    char *old = dlb_mem_check(dlb_convert_old_name(all->name, pid));
    uint64_t here = inode_of(all->folder, all->name), aside = inode_of(all->folder, old);
    struct dlb_stays stays = {.any = false};
    bool settled = true;

    if (!aside || aside != swap->old_inode)
        goto out;
    if (here && here != swap->new_inode) {
        settled = false;
        tell_other(all, old);
    } else if (here) {
        settled = dlb_owned_remove(all->folder, old, &stays);
        if (settled)
            tell(all, DLB_CONVERT_REMOVED, old, NULL);
    } else {
        settled = renameat(all->folder, old, all->folder, all->name) == 0;
        if (settled)
            tell(all, DLB_CONVERT_PUT_BACK, all->name, NULL);
        else
            dlb_stays_note(&stays, "", errno);
    }
    if (stays.any)
        tell_kept(all, old, &stays);
out:
    free(old);
    return settled;
}

static void remove_dead(const struct leftovers *all, int part_fd, const char *part, const char *pid)
{
    struct dlb_part_swap swap;
    struct dlb_stays stays;

    if (dlb_part_read_swap(part_fd, &swap) && !settle_swap(all, &swap, pid))
        return; /* with its note, so that a later conversion can settle it */
    if (dlb_part_remove(all->folder, part, all->name, &stays))
        tell(all, DLB_CONVERT_REMOVED, part, NULL);
    else
        tell_kept(all, part, &stays);
}

/* The mark is open. */
static int take_marked(const struct leftovers *all, int part_fd, int mark_fd, const char *part,
                       const char *pid, struct dlb_err *err)
{
    struct dlb_part_mark mark;
    char *path = dlb_mem_check(dlb_path_join(all->parent, part));
    int rc = DLB_OK;

    /* A file system without locks has no guard against a second conversion. */
    if (flock(mark_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = dlb_fail(err, DLB_ERR_TARGET_BUSY, path, DLB_NO_OFFSET,
                      "another convert writes to the same target: wait for it, or stop it");
    else if (!dlb_part_read_mark(mark_fd, &mark)) {
        if (dlb_part_remove_empty(all->folder, part)) /* killed before it wrote the mark */
            tell(all, DLB_CONVERT_REMOVED, part, NULL);
    } else if (dlb_part_is_elsewhere(&mark))
        rc = dlb_fail(err, DLB_ERR_TARGET_BUSY, path, DLB_NO_OFFSET,
                      "a convert on %.*s writes to the same target, or was killed: if it does not "
                      "run there any more, remove this folder",
                      (int)sizeof mark.node, mark.node);
    else
        remove_dead(all, part_fd, part, pid);
    free(path);
    return rc;
}

/* A folder without the mark is removed only if it is empty: either it is not ours, or its process
 * was killed before it made the mark. */
static int take_one(const struct leftovers *all, const char *part, const char *pid,
                    struct dlb_err *err)
{
    int part_fd = (int)TEMP_FAILURE_RETRY(
        openat(all->folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    int rc = DLB_OK;

    if (part_fd < 0)
        return DLB_OK;
    int mark_fd = dlb_part_open_mark(part_fd, O_RDWR | O_NONBLOCK | O_NOCTTY);
    if (mark_fd >= 0) {
        rc = take_marked(all, part_fd, mark_fd, part, pid, err);
        (void)close(mark_fd);
    } else if (errno == ENOENT && unlinkat(all->folder, part, AT_REMOVEDIR) == 0) {
        tell(all, DLB_CONVERT_REMOVED, part, NULL);
    }
    (void)close(part_fd);
    return rc;
}

/* The process's number in NAME.part-PID; NULL: it is called otherwise. */
static const char *pid_of(const char *entry, const char *name)
{
    size_t len = strlen(name), n_word = strlen(DLB_PART_WORD);

    if (strncmp(entry, name, len) != 0 || strncmp(entry + len, DLB_PART_WORD, n_word) != 0)
        return NULL;
    const char *pid = entry + len + n_word;
    return *pid && pid[strspn(pid, "0123456789")] == '\0' ? pid : NULL;
}

int dlb_convert_take_leftovers(const char *parent, const char *name, dlb_convert_left_fn *left,
                               void *ctx, struct dlb_err *err)
{
    DIR *dir = opendir(parent);
    int rc = DLB_OK;

    if (!dir)
        return dlb_fail_errno(err, parent, DLB_NO_OFFSET, "listing the folder");
    const struct leftovers all = {parent, name, dirfd(dir), left, ctx};
    while (rc == DLB_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry && errno != 0)
            rc = dlb_fail_errno(err, parent, DLB_NO_OFFSET, "listing the folder");
        if (!entry)
            break;
        const char *pid = pid_of(entry->d_name, name);
        if (pid)
            rc = take_one(&all, entry->d_name, pid, err);
    }
    (void)closedir(dir);
    return rc;
}
