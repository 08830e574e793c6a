#include "formats/convert/target.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "core/base/remove.h"
#include "formats/format.h"
#include "formats/generate/made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_NAME ".dlbench-convert"
#define PART_WORD ".part-"

enum { MAX_OPEN = 32 };

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

/* The mark goes last, so that the leftovers of a killed removal are still recognised. */
static int remove_part(const char *part)
{
    DIR *dir = opendir(part);
    int rc = dir ? 0 : -1;

    for (const struct dirent *entry; dir && rc == 0 && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strcmp(entry->d_name, MARK_NAME) == 0)
            continue;
        char *path = dlb_path_join(part, entry->d_name);
        rc = path ? nftw(path, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS) : -1;
        free(path);
    }
    if (dir)
        (void)closedir(dir);
    char *mark = dlb_path_join(part, MARK_NAME);
    if (rc == 0 && (!mark || unlink(mark) != 0))
        rc = -1;
    free(mark);
    return rc == 0 ? rmdir(part) : -1;
}

/* Whether `path` is `folder` or lies in it; both resolved. */
static bool is_within(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 &&
           (path[len] == '\0' || path[len] == '/' || (len == 1 && *folder == '/'));
}

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
    else if (asprintf(&target->part, "%s" PART_WORD "%ld", target->path, (long)getpid()) < 0)
        return dlb_fail_memory(err, path, strlen(path) + 32);
    target->inside = dlb_mem_check(dlb_path_join(target->part, name));
    return DLB_OK;
}

/* The source may not be a path (a list of shards, a prefix): then the folder of its files. */
static char *resolve_source(const char *source)
{
    char *real = realpath(source, NULL);
    if (real)
        return real;
    char *folder = strdup(source);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[slash == folder] = '\0';
    real = folder ? realpath(slash ? folder : ".", NULL) : NULL;
    free(folder);
    return real;
}

/* Only an empty folder, or one whose files are all known as parts of a data set, may be replaced.
 */
static int check_known(const char *path, struct dlb_err *err)
{
    static const struct dlb_format no_format = {.name = "known"};
    const struct dlb_format *format = &no_format;
    char foreign[128] = "";
    struct stat st;
    int best = 0;

    for (size_t i = 0; dlb_formats[i]; i++) {
        const struct dlb_format *one = dlb_formats[i];
        int likely = one->missing || !one->probe ? 0 : one->probe(path, &dlb_io_posix);
        format = likely > best ? one : format;
        best = likely > best ? likely : best;
    }
    if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode)) /* a file, or a link: only it is replaced */
        return best > 0 ? DLB_OK
                        : dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                                   "is not a data set that this program knows, so it is not "
                                   "replaced: remove it yourself");
    int rc = dlb_made_foreign(path, format, foreign, sizeof foreign, err);
    if (rc == DLB_END)
        rc = dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                      "holds \"%s\", which is not part of a %s data set, so it is not replaced: "
                      "choose another name, or remove the folder yourself",
                      foreign, format->name);
    return rc;
}

static int check_replaced(const struct dlb_convert_target *target, const char *resolved,
                          struct dlb_err *err)
{
    char here[PATH_MAX];

    if (!target->replace)
        return dlb_fail(err, DLB_ERR_TARGET_EXISTS, target->path, DLB_NO_OFFSET,
                        "exists already: choose another name, or --overwrite to replace it");
    if (getcwd(here, sizeof here) && is_within(here, resolved))
        return dlb_fail(err, DLB_ERR_TARGET_OVERLAPS, target->path, DLB_NO_OFFSET,
                        "contains the working folder, so it is not replaced");
    return check_known(target->path, err);
}

static int check_place(const struct dlb_convert_target *target, const char *source,
                       struct dlb_err *err)
{
    char *parent = realpath(target->parent, NULL), *from = resolve_source(source), *to = NULL;
    char *same = realpath(target->path, NULL);
    struct stat st;
    int rc = DLB_OK;

    if (!parent) {
        rc = dlb_fail_errno(err, target->parent, DLB_NO_OFFSET, "the folder to convert into");
        goto out;
    }
    to =
        dlb_mem_check(dlb_path_join(strcmp(parent, "/") == 0 ? "" : parent, name_of(target->path)));
    bool source_is_path = access(source, F_OK) == 0;
    if (from && source_is_path && (is_within(to, from) || (same && is_within(same, from))))
        rc = dlb_fail(err, DLB_ERR_TARGET_OVERLAPS, target->path, DLB_NO_OFFSET,
                      "is the source or lies in it: choose a path outside of the source");
    else if (from && is_within(from, to))
        rc = dlb_fail(err, DLB_ERR_TARGET_OVERLAPS, target->path, DLB_NO_OFFSET,
                      "contains the source: choose another path");
    else if (lstat(target->path, &st) == 0)
        rc = check_replaced(target, to, err);
out:
    free(parent);
    free(from);
    free(to);
    free(same);
    return rc;
}

/* What the mark says. The machine is known by its boot, or, after another one, by its name: that of
 * a container differs each time. */
struct mark {
    char id[DLB_MARK_ID], boot[DLB_MARK_ID], node[256];
};

static void name_machine(struct mark *mark)
{
    dlb_gen_mark_uuid("boot_id", mark->boot);
    (void)gethostname(mark->node, sizeof mark->node - 1);
}

static bool read_mark(int fd, struct mark *mark)
{
    return pread(fd, mark, sizeof *mark, 0) == (ssize_t)sizeof *mark;
}

/* NFS may not lock across machines, so that a lock taken here says nothing of that process. */
static bool is_elsewhere(const struct mark *mark)
{
    struct mark here = {.id = ""};

    name_machine(&here);
    return memcmp(mark->boot, here.boot, sizeof here.boot) != 0 &&
           memcmp(mark->node, here.node, sizeof here.node) != 0;
}

/* Removes the folder of an earlier conversion to the same target, if that process is dead. A folder
 * without the mark is removed only if it is empty: either it is not ours, or its process was killed
 * before it wrote the mark. */
static int take_leftover(const char *part, bool *removed, struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(part, MARK_NAME));
    struct mark mark;
    int rc = DLB_OK;

    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    free(path);
    if (fd < 0) {
        *removed = errno == ENOENT && rmdir(part) == 0;
        return DLB_OK;
    }
    /* A file system without locks has no guard against a second conversion. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = dlb_fail(err, DLB_ERR_TARGET_BUSY, part, DLB_NO_OFFSET,
                      "another convert writes to the same target: wait for it, or stop it");
    else if (read_mark(fd, &mark) && is_elsewhere(&mark))
        rc = dlb_fail(err, DLB_ERR_TARGET_BUSY, part, DLB_NO_OFFSET,
                      "a convert on %.*s writes to the same target, or was killed: if it does not "
                      "run there any more, remove this folder",
                      (int)sizeof mark.node, mark.node);
    else if (remove_part(part) != 0)
        rc = dlb_fail_errno(err, part, DLB_NO_OFFSET, "removing the leftovers of a killed convert");
    else
        *removed = true;
    (void)close(fd);
    return rc;
}

static int take_leftovers(const struct dlb_convert_target *target,
                          void (*removed)(void *ctx, const char *path), void *ctx,
                          struct dlb_err *err)
{
    const char *name = name_of(target->path);
    size_t len = strlen(name), n_word = strlen(PART_WORD);
    DIR *dir = opendir(target->parent);
    int rc = DLB_OK;

    if (!dir)
        return dlb_fail_errno(err, target->parent, DLB_NO_OFFSET, "listing the folder");
    while (rc == DLB_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry && errno != 0)
            rc = dlb_fail_errno(err, target->parent, DLB_NO_OFFSET, "listing the folder");
        if (!entry)
            break;
        const char *found = entry->d_name;
        if (strncmp(found, name, len) != 0 || strncmp(found + len, PART_WORD, n_word) != 0)
            continue;
        const char *pid = found + len + n_word;
        if (*pid == '\0' || pid[strspn(pid, "0123456789")] != '\0')
            continue;
        bool gone = false;
        char *part = dlb_mem_check(dlb_path_join(target->parent, found));
        rc = take_leftover(part, &gone, err);
        if (gone && removed)
            removed(ctx, part);
        free(part);
    }
    (void)closedir(dir);
    return rc;
}

/* Before the process ends because memory is short (core/base/mem.h). */
static void put_in_order(void *ctx)
{
    dlb_remove_tree(AT_FDCWD, ((const struct dlb_convert_target *)ctx)->part);
}

/* Synced, so that other machines see it. */
static int write_mark(struct dlb_convert_target *target, const char *path, struct dlb_err *err)
{
    struct mark mark = {.id = ""};

    dlb_gen_mark_uuid("uuid", mark.id);
    name_machine(&mark);
    memcpy(target->id, mark.id, sizeof target->id);
    int rc = dlb_write_all(target->mark_fd, path, &mark, sizeof mark, err);
    if (rc == DLB_OK && fsync(target->mark_fd) != 0)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "syncing to disk");
    return rc;
}

static int make_part(struct dlb_convert_target *target, struct dlb_err *err)
{
    char *mark = dlb_mem_check(dlb_path_join(target->part, MARK_NAME));
    int rc = DLB_OK;

    if (mkdir(target->part, 0777) != 0) {
        rc = dlb_fail_errno(err, target->part, DLB_NO_OFFSET, "making the temporary folder");
        goto out;
    }
    target->mark_fd = open(mark, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (target->mark_fd < 0) {
        rc = dlb_fail_errno(err, mark, DLB_NO_OFFSET, "marking the temporary folder");
        (void)rmdir(target->part);
        goto out;
    }
    if (flock(target->mark_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = dlb_fail(err, DLB_ERR_TARGET_BUSY, target->part, DLB_NO_OFFSET,
                      "another convert to the same target has just started: wait for it");
    else
        rc = write_mark(target, mark, err);
    dlb_mem_at_exhaustion(put_in_order, target);
out:
    free(mark);
    return rc;
}

int dlb_convert_target_open(struct dlb_convert_target *target, const char *path, const char *source,
                            bool replace, void (*removed)(void *ctx, const char *path), void *ctx,
                            struct dlb_err *err)
{
    *target = (struct dlb_convert_target){.mark_fd = -1, .replace = replace};
    int rc = take_apart(target, path, NULL, err);
    if (rc == DLB_OK)
        rc = check_place(target, source, err);
    if (rc == DLB_OK)
        rc = take_leftovers(target, removed, ctx, err);
    return rc == DLB_OK ? make_part(target, err) : rc;
}

int dlb_convert_target_visit(struct dlb_convert_target *target, const char *path, const char *part,
                             const char *id, struct dlb_err *err)
{
    struct mark mark;

    *target = (struct dlb_convert_target){.mark_fd = -1, .guest = true};
    int rc = take_apart(target, path, part, err);
    if (rc != DLB_OK)
        return rc;
    /* NFS remembers that a file was not there. Opening its folder asks the server again. */
    int folder = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        target->mark_fd = openat(folder, MARK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        (void)close(folder);
    }
    if (target->mark_fd >= 0 && id[0] && read_mark(target->mark_fd, &mark) &&
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

/* For file systems that cannot exchange two names: renames the old data away, and back if the new
 * data cannot be renamed to their place. */
static int swap_in_steps(const struct dlb_convert_target *target, struct dlb_err *err)
{
    char *aside = NULL;
    int rc = DLB_OK;

    if (asprintf(&aside, "%s.old-%ld", target->path, (long)getpid()) < 0)
        return dlb_fail_memory(err, target->path, strlen(target->path) + 32);
    if (rename(target->path, aside) != 0) {
        rc = dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the old data");
    } else if (rename(target->inside, target->path) != 0) {
        rc = dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the finished data");
        (void)rename(aside, target->path);
    } else {
        (void)nftw(aside, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
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
    if (errno != EINVAL && errno != ENOSYS)
        return dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the finished data");
    if (replaced)
        return swap_in_steps(target, err);
    return rename(target->inside, target->path) == 0
               ? DLB_OK
               : dlb_fail_errno(err, target->path, DLB_NO_OFFSET, "renaming the finished data");
}

int dlb_convert_target_commit(struct dlb_convert_target *target, struct dlb_err *err)
{
    int rc = put_in_place(target, err);
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
    bool named = asprintf(&gone, "%s" PART_WORD "0%ld", target->path, (long)getpid()) >= 0;
    bool renamed = named && rename(target->part, gone) == 0;

    (void)remove_part(renamed ? gone : target->part);
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
