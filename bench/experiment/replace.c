#include "bench/experiment/replace.h"

#include "bench/experiment/contents.h"
#include "core/base/io.h"
#include "core/base/remove.h"
#include "core/base/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NEXT ".next-" /* followed by the process's number */

struct exchange {
    const char *path;
    char made[PATH_MAX], aside[PATH_MAX], mark[32];
    int old_fd, new_fd;
};

static int open_folder(int at, const char *name)
{
    return (int)TEMP_FAILURE_RETRY(
        openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void close_folder(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool dlb_replace_is_same(int fd, const char *path)
{
    struct stat open, there;
    return fstat(fd, &open) == 0 && stat(path, &there) == 0 && same(&open, &there);
}

/* What is neither a result's file nor the mark belongs to the user. */
static bool is_kept(const char *name, const char *mark)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, mark) != 0 &&
           !dlb_is_result_file(name);
}

/* The entries of an open folder; NULL after an error. */
static DIR *list(int folder)
{
    int fd = open_folder(folder, ".");
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        close_folder(fd);
    return dir;
}

/* The same owner, mode and no ACL; else others could lose the access that they have. */
static bool is_alike(const struct exchange *x)
{
    struct stat link, old, made;
    if (lstat(x->path, &link) || fstat(x->old_fd, &old) || !same(&link, &old) ||
        fstat(x->new_fd, &made))
        return false;
    if ((made.st_uid != old.st_uid || made.st_gid != old.st_gid) &&
        fchown(x->new_fd, old.st_uid, old.st_gid))
        return false;
    return fgetxattr(x->old_fd, "system.posix_acl_access", NULL, 0) < 0 &&
           fgetxattr(x->old_fd, "system.posix_acl_default", NULL, 0) < 0 &&
           fchmod(x->new_fd, old.st_mode & 07777) == 0;
}

/* Whether the entry can be renamed to another folder after the exchange. */
static bool can_move(int folder, const char *name)
{
    struct stat in, st;
    return fstat(folder, &in) == 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           in.st_dev == st.st_dev && !(in.st_mode & S_ISVTX) &&
           (!S_ISDIR(st.st_mode) || faccessat(folder, name, W_OK, AT_EACCESS) == 0);
}

static bool link_kept(const struct exchange *x)
{
    DIR *dir = list(x->old_fd);
    bool ok = dir != NULL;
    for (const struct dirent *entry; ok && (entry = readdir(dir));)
        ok = !is_kept(entry->d_name, x->mark) ||
             linkat(x->old_fd, entry->d_name, x->new_fd, entry->d_name, 0) == 0 ||
             can_move(x->old_fd, entry->d_name);
    if (dir)
        (void)closedir(dir);
    return ok;
}

/* Takes an entry of the folder that goes back to the one that stays. */
static void give_back(int aside, int stays, const char *name)
{
    struct stat st, there;
    if (fstatat(aside, name, &st, AT_SYMLINK_NOFOLLOW))
        return;
    if (fstatat(stays, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && same(&st, &there))
        (void)unlinkat(aside, name, 0);
    else
        (void)renameat2(aside, name, stays, name, RENAME_NOREPLACE);
}

/* Empties and removes the folder that is not the result's. The mark goes last, so that a kill in
 * between is recovered. */
static void settle(const char *aside, int aside_fd, int stays_fd, const char *mark)
{
    DIR *dir = list(aside_fd);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (is_kept(entry->d_name, mark))
            give_back(aside_fd, stays_fd, entry->d_name);
    rewinddir(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (dlb_is_result_file(entry->d_name))
            (void)unlinkat(aside_fd, entry->d_name, 0);
    (void)closedir(dir);
    dlb_remove_tree(aside_fd, mark);
    if (rmdir(aside) && errno == ENOTEMPTY)
        dlb_say_note("%s holds what could not be moved to the result's folder", aside);
}

static bool fill(struct exchange *x, dlb_replace_write *write, const void *ctx)
{
    struct dlb_err ignored;
    x->new_fd = open_folder(AT_FDCWD, x->made);
    return x->new_fd >= 0 && (flock(x->new_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           is_alike(x) && mkdirat(x->new_fd, x->mark, 0777) == 0 &&
           write(ctx, x->made, &ignored) == DLB_OK && link_kept(x) && fsync(x->new_fd) == 0;
}

static bool exchange(const struct exchange *x)
{
    struct dlb_err ignored;
    if (renameat2(AT_FDCWD, x->made, AT_FDCWD, x->aside, RENAME_NOREPLACE))
        return false;
    bool done = renameat2(AT_FDCWD, x->aside, AT_FDCWD, x->path, RENAME_EXCHANGE) == 0;
    if (done && dlb_sync_folder_of(x->path, &ignored) == DLB_OK)
        return true;
    if (!done || renameat2(AT_FDCWD, x->aside, AT_FDCWD, x->path, RENAME_EXCHANGE) == 0)
        (void)rename(x->aside, x->made);
    return false;
}

static bool fits(int n)
{
    return n > 0 && n < PATH_MAX;
}

bool dlb_replace_folder(const char *path, const char *scratch, dlb_replace_write *write,
                        const void *ctx, int *lock_fd)
{
    struct exchange x = {.path = path, .old_fd = *lock_fd, .new_fd = -1};
    dlb_scratch_name(x.mark, sizeof(x.mark));
    if (!fits(snprintf(x.made, sizeof(x.made), "%s/new", scratch)) ||
        !fits(snprintf(x.aside, sizeof(x.aside), "%s" NEXT "%ld", path, (long)getpid())) ||
        mkdir(x.made, 0777))
        return false;
    bool done = (mkdirat(x.old_fd, x.mark, 0777) == 0 || errno == EEXIST) && fill(&x, write, ctx) &&
                exchange(&x);
    if (!done) {
        dlb_remove_tree(AT_FDCWD, x.made);
        (void)unlinkat(x.old_fd, x.mark, AT_REMOVEDIR); /* fails if it holds anything */
        close_folder(x.new_fd);
        return false;
    }
    settle(x.aside, x.old_fd, x.new_fd, x.mark);
    (void)unlinkat(x.new_fd, x.mark, AT_REMOVEDIR);
    (void)close(x.old_fd);
    *lock_fd = x.new_fd;
    return true;
}

/* NAME.next-<process>, with the mark of that process or empty, beside NAME. */
static void recover_one(int results, const char *aside, const char *path)
{
    char name[NAME_MAX + 1], mark[32];
    const char *at = strstr(aside, NEXT);
    for (const char *later = at; later; later = strstr(later + 1, NEXT))
        at = later;
    if (!at || at == aside || !dlb_scratch_name_of(at + strlen(NEXT), mark, sizeof(mark)))
        return;
    (void)snprintf(name, sizeof(name), "%s", aside);
    name[at - aside] = '\0';
    int stays_fd = open_folder(results, name), aside_fd = open_folder(results, aside);
    struct stat st;
    if (stays_fd >= 0 && aside_fd >= 0 && flock(aside_fd, LOCK_EX | LOCK_NB) == 0 &&
        unlinkat(results, aside, AT_REMOVEDIR) != 0 &&
        fstatat(aside_fd, mark, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        settle(path, aside_fd, stays_fd, mark);
    close_folder(stays_fd);
    close_folder(aside_fd);
}

void dlb_replace_recover(const char *results)
{
    char path[PATH_MAX];
    DIR *dir = opendir(results);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (fits(snprintf(path, sizeof(path), "%s/%s", results, entry->d_name)))
            recover_one(dirfd(dir), entry->d_name, path);
    if (dir)
        (void)closedir(dir);
}
