#include "bench/experiment/replace.h"

#include "bench/experiment/contents.h"
#include "bench/experiment/names.h"
#include "bench/experiment/scratch.h"
#include "core/base/io.h"
#include "core/base/remove.h"
#include "core/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
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

/* What is neither a result's file nor the mark belongs to the user. */
static bool is_kept(const char *name, const char *mark)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, mark) != 0 &&
           !dlb_is_result_file(name);
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

struct kept {
    const char *mark;
    int to; /* the folder that stays */
    bool ok;
};

static void link_one(void *ctx, int folder, const char *name)
{
    struct kept *kept = ctx;
    kept->ok = kept->ok && (!is_kept(name, kept->mark) ||
                            linkat(folder, name, kept->to, name, 0) == 0 || can_move(folder, name));
}

static bool link_kept(const struct exchange *x)
{
    struct kept kept = {x->mark, x->new_fd, true};
    return dlb_contents_each(x->old_fd, link_one, &kept) && kept.ok;
}

/* Takes an entry of the folder that goes back to the one that stays. */
static void give_back(void *ctx, int aside, const char *name)
{
    const struct kept *kept = ctx;
    struct stat st, there;
    if (strcmp(name, kept->mark) == 0 || fstatat(aside, name, &st, AT_SYMLINK_NOFOLLOW))
        return;
    if (fstatat(kept->to, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && same(&st, &there))
        (void)unlinkat(aside, name, 0);
    else
        (void)renameat2(aside, name, kept->to, name, RENAME_NOREPLACE);
}

/* Empties and removes the folder that is not the result's. The mark goes last, so that a kill in
 * between is recovered. */
static void settle(const char *aside, int aside_fd, int stays_fd, const char *mark)
{
    struct kept kept = {mark, stays_fd, true};
    dlb_contents_remove_result(aside_fd);
    (void)dlb_contents_each(aside_fd, give_back, &kept);
    dlb_scratch_remove(aside_fd, mark);
    if (rmdir(aside) && errno == ENOTEMPTY)
        dlb_say_note("%s holds what could not be moved to the result's folder", aside);
}

static bool fill(struct exchange *x, dlb_replace_write *write, const void *ctx)
{
    struct dlb_err ignored;
    x->new_fd = open_folder(AT_FDCWD, x->made);
    return x->new_fd >= 0 && (flock(x->new_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           is_alike(x) && dlb_scratch_make(x->new_fd, false) &&
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
    if (!fits(snprintf(x.made, sizeof(x.made), "%s/" DLB_SCRATCH_NEW, scratch)) ||
        !fits(snprintf(x.aside, sizeof(x.aside), "%s" NEXT "%ld", path, (long)getpid())) ||
        mkdir(x.made, 0777))
        return false;
    if (!fill(&x, write, ctx) || !exchange(&x)) {
        dlb_remove_tree(AT_FDCWD, x.made);
        close_folder(x.new_fd);
        return false;
    }
    settle(x.aside, x.old_fd, x.new_fd, x.mark);
    dlb_scratch_remove(x.new_fd, x.mark);
    (void)close(x.old_fd);
    *lock_fd = x.new_fd;
    return true;
}

static void count_one(void *ctx, int folder, const char *name)
{
    (void)folder, (void)name;
    ++*(int *)ctx;
}

/* Whether dlb_replace_folder left this folder: it holds the mark. A kill while the mark is removed,
 * which is the last that goes, can leave the mark's folder empty, or nothing. Then the result that
 * stays holds the mark of the same process. */
static bool is_left(int aside, int stays, const char *mark)
{
    int n = 0;
    enum dlb_scratch_kind kind = dlb_scratch_look(aside, mark).kind;
    return kind == DLB_SCRATCH_HERE ||
           (dlb_scratch_look(stays, mark).kind == DLB_SCRATCH_HERE &&
            dlb_contents_each(aside, count_one, &n) && n == (kind == DLB_SCRATCH_UNMARKED));
}

/* NAME.next-<process> beside NAME. */
static void recover_one(void *ctx, int results, const char *aside)
{
    char name[NAME_MAX + 1], mark[32], path[PATH_MAX];
    const char *at = strstr(aside, NEXT), *end = NULL;
    for (const char *later = at; later; later = strstr(later + 1, NEXT))
        at = later;
    if (!at || at == aside || !dlb_scratch_name_of(at + strlen(NEXT), mark, sizeof(mark), &end) ||
        *end || !fits(snprintf(path, sizeof(path), "%s/%s", (const char *)ctx, aside)))
        return;
    (void)snprintf(name, sizeof(name), "%s", aside);
    name[at - aside] = '\0';
    int stays_fd = open_folder(results, name), aside_fd = open_folder(results, aside);
    if (stays_fd >= 0 && aside_fd >= 0 && flock(aside_fd, LOCK_EX | LOCK_NB) == 0 &&
        is_left(aside_fd, stays_fd, mark))
        settle(path, aside_fd, stays_fd, mark);
    close_folder(stays_fd);
    close_folder(aside_fd);
}

void dlb_replace_recover(const char *results)
{
    int fd = (int)TEMP_FAILURE_RETRY(open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd >= 0)
        (void)dlb_contents_each(fd, recover_one, (void *)(uintptr_t)results);
    close_folder(fd);
}
