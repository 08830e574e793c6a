#include "formats/convert/target.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "formats/convert/overlap.h"
#include "formats/convert/part.h"
#include "formats/generate/listed.h"
#include "formats/generate/owned.h"
#include "formats/generate/trailer.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_OPEN = 32 };

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Copies `path` without the slashes at its end, and takes it apart. `part`: the temporary folder;
 * NULL: this process's. */
static int take_apart(struct dlb_convert_target *target, const char *path, const char *part,
                      struct dlb_err *err)
{
    target->path = dlb_mem_text(path);
    for (size_t len = strlen(target->path); len > 1 && target->path[len - 1] == '/';)
        target->path[--len] = '\0';
    const char *name = name_of(target->path);
    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return dlb_fail(err, DLB_ERR_TARGET_NAME_UNFIT, path, DLB_NO_OFFSET,
                        "cannot be created: name a file or folder that does not exist yet");
    size_t n_parent = (size_t)(name - target->path);
    target->parent = dlb_mem_check(n_parent ? strndup(target->path, n_parent > 1 ? n_parent - 1 : 1)
                                            : strdup("."));
    if (part)
        target->part = dlb_mem_text(part);
    else if (asprintf(&target->part, "%s" DLB_PART_WORD "%ld", target->path, (long)getpid()) < 0)
        return dlb_fail_memory(err, path, strlen(path) + 32);
    target->inside = dlb_mem_check(dlb_path_join(target->part, name));
    return DLB_OK;
}

static int check_folder(const char *path, struct dlb_err *err)
{
    char foreign[128] = "";
    const char *why = "";
    int rc = dlb_owned_check(path, foreign, sizeof foreign, &why, err);

    if (rc == DLB_END)
        rc = dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                      "is not replaced: it holds \"%s\", %s; choose another target, or remove the "
                      "folder yourself",
                      foreign, why);
    return rc;
}

/* Only an empty folder, or what dlbench wrote and nobody added to, may be replaced. */
static int check_known(const char *path, struct dlb_err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return DLB_OK;
    if (S_ISDIR(st.st_mode))
        return check_folder(path, err);
    if (S_ISLNK(st.st_mode))
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                        "is a symbolic link, which is not replaced: name what it points to as the "
                        "target, or remove the link yourself");
    return dlb_trailer_fits(path)
               ? DLB_OK
               : dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                          "is not replaced: it does not end as files of convert do, so another "
                          "program or an older version wrote it; choose another target, or remove "
                          "it yourself");
}

/* Whether something is mounted there. Kernels before 5.8 do not tell; then another file system than
 * the parent's. */
static bool is_mounted(const struct dlb_convert_target *target)
{
    struct stat parent, there;
    struct statx st;

    if (statx(AT_FDCWD, target->path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
        st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
        return st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
    return stat(target->parent, &parent) == 0 && lstat(target->path, &there) == 0 &&
           parent.st_dev != there.st_dev;
}

static int fail_mounted(const struct dlb_convert_target *target, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_TARGET_NAME_UNFIT, target->path, DLB_NO_OFFSET,
                    "is a mount point, which cannot be renamed or replaced: name a new folder in "
                    "it as the target");
}

static int check_replaced(const struct dlb_convert_target *target, const char *resolved,
                          struct dlb_err *err)
{
    char here[PATH_MAX];

    if (is_mounted(target))
        return fail_mounted(target, err);
    if (!target->replace)
        return dlb_fail(err, DLB_ERR_TARGET_EXISTS, target->path, DLB_NO_OFFSET,
                        "exists already: choose another name, or --overwrite to replace it");
    if (getcwd(here, sizeof here) && dlb_convert_is_within(here, resolved))
        return dlb_fail(err, DLB_ERR_TARGET_OVERLAPS, target->path, DLB_NO_OFFSET,
                        "contains the working folder, so it is not replaced");
    return check_known(target->path, err);
}

static int check_place(const struct dlb_convert_target *target, const struct dlb_convert *how,
                       struct dlb_err *err)
{
    char *parent = realpath(target->parent, NULL), *to = NULL;
    struct stat st;

    if (!parent)
        return dlb_fail_errno(err, target->parent, DLB_NO_OFFSET, "the folder to convert into");
    to =
        dlb_mem_check(dlb_path_join(strcmp(parent, "/") == 0 ? "" : parent, name_of(target->path)));
    int rc = dlb_convert_check_overlap(how, to, err);
    if (rc == DLB_OK && lstat(target->path, &st) == 0)
        rc = check_replaced(target, to, err);
    free(parent);
    free(to);
    return rc;
}

/* Before the process ends because memory is short (core/base/mem.h). */
static void put_in_order(void *ctx)
{
    const struct dlb_convert_target *target = ctx;
    struct dlb_stays stays;
    (void)dlb_part_remove(AT_FDCWD, target->part, name_of(target->path), &stays);
}

struct heard {
    const struct dlb_convert_target *target;
    bool put_back;
};

static void hear(void *ctx, enum dlb_convert_left what, const char *path, const struct dlb_err *why)
{
    struct heard *heard = ctx;
    const struct dlb_convert_target *target = heard->target;

    heard->put_back = heard->put_back || what == DLB_CONVERT_PUT_BACK;
    if (target->left)
        target->left(target->ctx, what, path, why);
}

/* Data that were put back are there from now on. */
static int take_leftovers(const struct dlb_convert_target *target, const struct dlb_convert *how,
                          struct dlb_err *err)
{
    struct heard heard = {target, false};
    int rc = dlb_convert_take_leftovers(target->parent, name_of(target->path), hear, &heard, err);

    return rc == DLB_OK && heard.put_back ? check_place(target, how, err) : rc;
}

int dlb_convert_target_open(struct dlb_convert_target *target, const struct dlb_convert *how,
                            struct dlb_err *err)
{
    *target = (struct dlb_convert_target){
        .mark_fd = -1, .replace = how->overwrite, .left = how->watch->left, .ctx = how->watch->ctx};
    int rc = take_apart(target, how->to_path, NULL, err);
    if (rc == DLB_OK)
        rc = check_place(target, how, err);
    if (rc == DLB_OK)
        rc = take_leftovers(target, how, err);
    if (rc != DLB_OK)
        return rc;
    rc = dlb_part_make(target->part, target->id, &target->mark_fd, err);
    if (target->mark_fd >= 0)
        dlb_mem_at_exhaustion(put_in_order, target);
    return rc;
}

int dlb_convert_target_visit(struct dlb_convert_target *target, const char *path, const char *part,
                             const char *id, struct dlb_err *err)
{
    struct dlb_part_mark mark;

    *target = (struct dlb_convert_target){.mark_fd = -1, .guest = true};
    int rc = take_apart(target, path, part, err);
    if (rc != DLB_OK)
        return rc;
    /* NFS remembers that a file was not there. Opening its folder asks the server again. */
    int folder = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        target->mark_fd = dlb_part_open_mark(folder, O_RDONLY);
        (void)close(folder);
    }
    if (target->mark_fd >= 0 && id[0] && dlb_part_read_mark(target->mark_fd, &mark) &&
        strncmp(mark.id, id, sizeof mark.id) == 0)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_RANKS_DATA, part, DLB_NO_OFFSET,
                    "is not the folder that rank 0 writes to: choose a target that all ranks "
                    "share");
}

static int sync_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (flag != FTW_F && flag != FTW_DP)
        return 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd >= 0 ? fsync(fd) : -1;
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int count_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    /* nftw passes no context, so the depth itself is the result. */
    (void)path, (void)st, (void)flag;
    return ftw->level > 1 ? 1 : 0;
}

/* Syncs a few files one by one: syncfs would also wait for other writers of the file system. A
 * guest would wait for those of other guests. */
int dlb_convert_target_sync(const struct dlb_convert_target *target, struct dlb_err *err)
{
    bool all = target->guest || nftw(target->inside, count_one, MAX_OPEN, FTW_PHYS) != 0;
    int rc = all ? syncfs(target->mark_fd)
                 : nftw(target->inside, sync_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);

    return rc == 0 ? DLB_OK : dlb_fail_errno(err, target->part, DLB_NO_OFFSET, "syncing to disk");
}

static void tell_kept(const struct dlb_convert_target *target, const char *path,
                      const struct dlb_stays *stays)
{
    struct dlb_err why;

    dlb_stays_say(stays, path, &why);
    if (target->left)
        target->left(target->ctx, DLB_CONVERT_KEPT, path, &why);
}

/* The data that were replaced are removed, as far as dlbench wrote them. */
static void remove_old(const struct dlb_convert_target *target, const char *aside)
{
    struct dlb_stays stays;

    if (!dlb_owned_remove(AT_FDCWD, aside, &stays))
        tell_kept(target, aside, &stays);
}

static int step_aside(const struct dlb_convert_target *target, const char *aside,
                      struct dlb_err *err)
{
    struct stat old, new, st;

    if (lstat(aside, &st) == 0)
        return dlb_fail(
            err, DLB_ERR_TARGET_EXISTS, aside, DLB_NO_OFFSET,
            "has the name that the replaced data get for a moment: rename or remove it");
    if (lstat(target->path, &old) != 0 || lstat(target->inside, &new) != 0)
        return dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the old data");
    const struct dlb_part_swap swap = {old.st_ino, new.st_ino};
    int rc = dlb_part_note_swap(target->part, &swap, err);
    if (rc == DLB_OK && rename(target->path, aside) != 0)
        rc = dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the old data");
    return rc;
}

/* For file systems that cannot exchange two names: renames the old data away, and back if the new
 * data cannot be renamed to their place. A kill in between is settled by the next conversion
 * (leftover.h). */
static int swap_in_steps(const struct dlb_convert_target *target, struct dlb_err *err)
{
    char pid[24];

    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    char *aside = dlb_mem_check(dlb_convert_old_name(target->path, pid));
    int rc = step_aside(target, aside, err);
    if (rc == DLB_OK && rename(target->inside, target->path) != 0) {
        rc = dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the finished data");
        (void)rename(aside, target->path);
    } else if (rc == DLB_OK) {
        remove_old(target, aside);
    }
    free(aside);
    return rc;
}

static int put_in_place(const struct dlb_convert_target *target, struct dlb_err *err)
{
    struct stat st;
    bool there = lstat(target->path, &st) == 0;
    unsigned how = there ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    bool replaced = there && target->replace;

    /* The conversion took a while: other files may have been added. */
    int rc = replaced ? check_known(target->path, err) : DLB_OK;
    if (rc != DLB_OK)
        return rc;
    if ((!there || replaced) &&
        renameat2(AT_FDCWD, target->inside, AT_FDCWD, target->path, how) == 0)
        return DLB_OK;
    if (there != replaced || errno == EEXIST)
        return dlb_fail(err, DLB_ERR_TARGET_EXISTS, target->path, DLB_NO_OFFSET,
                        "another process created it meanwhile, so it is not replaced");
    int code = errno;
    if (code == EBUSY && is_mounted(target)) /* meanwhile */
        return fail_mounted(target, err);
    errno = code;
    if (errno != EINVAL && errno != ENOSYS)
        return dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the finished data");
    if (replaced)
        return swap_in_steps(target, err);
    return rename(target->inside, target->path) == 0
               ? DLB_OK
               : dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the finished data");
}

/* By its list a later conversion knows that it may replace a folder. A file ends with a trailer. */
static int list_files(const struct dlb_convert_target *target, const struct dlb_format *format,
                      struct dlb_err *err)
{
    struct stat st;

    return lstat(target->inside, &st) == 0 && S_ISDIR(st.st_mode)
               ? dlb_listed_save(target->inside, format, NULL, err)
               : DLB_OK;
}

int dlb_convert_target_commit(struct dlb_convert_target *target, const struct dlb_format *format,
                              struct dlb_err *err)
{
    int rc = list_files(target, format, err);
    if (rc == DLB_OK)
        rc = put_in_place(target, err);
    int parent = rc == DLB_OK ? open(target->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (parent >= 0) {
        (void)fsync(parent); /* if it fails, the data are whole under one name or the other */
        (void)close(parent);
    }
    return rc;
}

/* Guests may not have heard yet that the conversion has ended, and create files by the old name. */
static void remove_own(const struct dlb_convert_target *target)
{
    char *gone = NULL;
    struct dlb_stays stays;
    bool named = asprintf(&gone, "%s" DLB_PART_WORD "0%ld", target->path, (long)getpid()) >= 0;
    bool renamed = named && rename(target->part, gone) == 0;

    const char *part = renamed ? gone : target->part;
    if (!dlb_part_remove(AT_FDCWD, part, name_of(target->path), &stays))
        tell_kept(target, part, &stays);
    if (named)
        free(gone);
}

void dlb_convert_target_close(struct dlb_convert_target *target)
{
    if (target->mark_fd >= 0 && !target->guest) {
        dlb_mem_at_exhaustion(NULL, NULL);
        remove_own(target);
    }
    if (target->mark_fd >= 0)
        (void)close(target->mark_fd);
    free(target->path);
    free(target->parent);
    free(target->part);
    free(target->inside);
    *target = (struct dlb_convert_target){.mark_fd = -1};
}
