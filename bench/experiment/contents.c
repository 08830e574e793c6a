#include "bench/experiment/contents.h"

#include "bench/experiment/names.h"
#include "bench/experiment/scratch.h"
#include "core/base/io.h"
#include "core/base/journal.h"
#include "core/base/json.h"
#include "reports/load.h"
#include "reports/title.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_environment(const char *text, size_t n_bytes)
{
    json_t *doc = json_loadb(text, n_bytes, 0, NULL);
    const json_t *versions = json_object_get(doc, "versions");
    bool is = json_is_string(json_object_get(doc, "kernel")) &&
              json_is_string(json_object_get(versions, "libc")) &&
              json_is_string(json_object_get(versions, "jansson"));
    json_decref(doc);
    return is;
}

/* Whether it begins as the page that dlbench makes of a result (reports/html/page.html). */
static bool is_page(const char *text, size_t n_bytes)
{
    static const char head[] = "<!doctype html>\n<!-- dlbench: a result as a page,";
    return n_bytes >= sizeof(head) - 1 && strncmp(text, head, sizeof(head) - 1) == 0;
}

/* What lies under the names of a result's files. */
struct result_files {
    bool there[DLB_N_RESULT_NAMES], ours[DLB_N_RESULT_NAMES]; /* in the order of dlb_result_names */
    bool unfinished;                                          /* the journal has a repetition */
    bool interrupted;                                         /* by the summary, as the name is */
    char run_name[256];
};

/* Of a journal the first line is enough, and it may be long. */
static int read_journal(int folder, const char *path, int i, struct result_files *out,
                        struct dlb_err *err)
{
    bool one = true;
    struct stat st;
    int fd = (int)TEMP_FAILURE_RETRY(openat(
        folder, dlb_result_names[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd < 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "opening");
    out->ours[i] = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && dlb_journal_looks(fd, &one);
    out->unfinished = out->ours[i] && !one;
    (void)close(fd);
    return DLB_OK;
}

/* A file that is not there any more, or that this user may not read, is not one that dlbench
 * wrote. */
static bool is_error(const struct dlb_err *err)
{
    return err->code == DLB_ERR_IO || err->code == DLB_ERR_FILE_TOO_LARGE ||
           err->code == DLB_ERR_TOO_MANY_FILES || err->status == DLB_E_NOMEM;
}

/* Files with other content, and anything that is not a regular file, belong to the user. A file
 * that cannot be read is an error. */
static int read_own(int folder, const char *path, int i, json_t **summary, struct result_files *out,
                    struct dlb_err *err)
{
    char full[PATH_MAX], *text = NULL;
    size_t n_bytes = 0;
    struct stat st;
    out->there[i] = fstatat(folder, dlb_result_names[i], &st, AT_SYMLINK_NOFOLLOW) == 0;
    int n = snprintf(full, sizeof(full), "%s/%s", path, dlb_result_names[i]);
    if (!out->there[i] || !S_ISREG(st.st_mode) || n < 0 || (size_t)n >= sizeof(full))
        return DLB_OK;
    bool is_journal = strcmp(dlb_result_names[i], DLB_JOURNAL_NAME) == 0;
    int rc = is_journal ? read_journal(folder, full, i, out, err)
                        : dlb_read_file_at(folder, dlb_result_names[i], full, DLB_SUMMARY_MAX_BYTES,
                                           &text, &n_bytes, err);
    if (rc || is_journal)
        return rc && is_error(err) ? rc : DLB_OK;
    if (i == 0)
        *summary = dlb_summary_recognise(text, n_bytes);
    out->ours[i] = i == 0   ? *summary != NULL
                   : i == 1 ? is_environment(text, n_bytes)
                   : i == 2 ? *summary && dlb_report_is_of(*summary, text)
                            : is_page(text, n_bytes);
    free(text);
    return DLB_OK;
}

static int read_all_own(int folder, const char *path, struct result_files *out, struct dlb_err *err)
{
    json_t *summary = NULL;
    int rc = DLB_OK;
    *out = (struct result_files){.unfinished = false};
    for (int i = 0; dlb_result_names[i] && rc == DLB_OK; i++)
        rc = read_own(folder, path, i, &summary, out, err);
    const char *name = dlb_json_text(summary, "run_name");
    out->interrupted = json_is_true(json_object_get(summary, "interrupted"));
    (void)snprintf(out->run_name, sizeof(out->run_name), "%s",
                   strlen(name) < sizeof(out->run_name) ? name : "");
    json_decref(summary);
    return rc;
}

/* Files that are being written are known by the scratch folder of the same process, because half of
 * a file tells nothing. */
static enum dlb_scratch_kind writer_of(int folder, const char *name)
{
    char scratch[32];
    const char *process = NULL, *end = NULL;
    struct stat st;
    if (!dlb_is_temporary(name, dlb_result_names, &process) ||
        !dlb_scratch_name_of(process, scratch, sizeof(scratch), &end) ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return DLB_SCRATCH_NONE;
    return dlb_scratch_look(folder, scratch).kind;
}

static bool is_entry(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool dlb_contents_each(int folder, void (*visit)(void *ctx, int folder, const char *name),
                       void *ctx)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        code = errno;
        if (fd >= 0)
            (void)close(fd);
        errno = code;
        return false;
    }
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        code = errno;
        if (!entry)
            break;
        if (is_entry(entry->d_name))
            visit(ctx, folder, entry->d_name);
    }
    (void)closedir(dir);
    errno = code;
    return code == 0;
}

static void note_other(struct dlb_contents *out, bool *kind, const char *name)
{
    if (!out->unfit)
        (void)snprintf(out->other, sizeof(out->other), "%s", name);
    *kind = true;
}

static void look_at(void *ctx, int folder, const char *name)
{
    struct dlb_contents *out = ctx;
    struct dlb_scratch scratch = dlb_scratch_look(folder, name);
    if (dlb_is_result_name(name))
        return;
    if (scratch.pid)
        out->pid = scratch.pid;
    if (scratch.kind != DLB_SCRATCH_NONE || writer_of(folder, name) > DLB_SCRATCH_UNMARKED)
        out->leftover = true;
    else
        note_other(out, &out->foreign, name);
}

int dlb_contents_of(int folder, const char *path, struct dlb_contents *out, struct dlb_err *err)
{
    struct result_files files;
    *out = (struct dlb_contents){.pid = 0};
    if (!dlb_contents_each(folder, look_at, out))
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "listing the result's folder");
    int rc = read_all_own(folder, path, &files, err);
    for (int i = 0; dlb_result_names[i] && rc == DLB_OK; i++) {
        if (files.there[i] && !files.ours[i])
            note_other(out, &out->unfit, dlb_result_names[i]);
        else if (files.there[i] && i == 0)
            out->summary = true;
        else if (files.there[i])
            out->leftover = true;
    }
    out->journal = files.ours[DLB_N_RESULT_NAMES - 1];
    out->unfinished = files.unfinished;
    out->interrupted = files.interrupted;
    memcpy(out->run_name, files.run_name, sizeof(out->run_name));
    return rc;
}

bool dlb_contents_is_at(int folder, const char *path)
{
    struct stat open, there;
    return fstat(folder, &open) == 0 && stat(path, &there) == 0 && open.st_dev == there.st_dev &&
           open.st_ino == there.st_ino;
}

enum dlb_claim dlb_contents_claim(const char *path, int flags, int *fd)
{
    *fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
    if (*fd < 0)
        return DLB_CLAIM_NONE;
    bool locked = TEMP_FAILURE_RETRY(flock(*fd, LOCK_EX | LOCK_NB)) == 0;
    if (!locked && errno == EWOULDBLOCK)
        return DLB_CLAIM_TAKEN;
    if (dlb_contents_is_at(*fd, path))
        return locked ? DLB_CLAIM_LOCKED : DLB_CLAIM_UNLOCKED;
    (void)close(*fd); /* it was exchanged or removed before the lock */
    *fd = -1;
    errno = ENOENT;
    return DLB_CLAIM_NONE;
}

/* The report first: it is known by the summary. */
void dlb_contents_remove_result(int folder)
{
    struct result_files files;
    struct dlb_err ignored;
    if (read_all_own(folder, "", &files, &ignored))
        return;
    for (int i = DLB_N_RESULT_NAMES - 1; i >= 0; i--)
        if (files.ours[i])
            (void)unlinkat(folder, dlb_result_names[i], 0);
}

static void remove_unfinished(void *ctx, int folder, const char *name)
{
    (void)ctx;
    if (writer_of(folder, name) == DLB_SCRATCH_HERE)
        (void)unlinkat(folder, name, 0);
}

static void remove_one_scratch(void *ctx, int folder, const char *name)
{
    bool *made = ctx;
    struct dlb_scratch scratch = dlb_scratch_look(folder, name);
    if (scratch.kind == DLB_SCRATCH_NONE)
        return;
    *made = *made || scratch.made;
    dlb_scratch_remove(folder, name);
}

bool dlb_contents_remove_leftovers(int folder)
{
    bool made = false;
    (void)dlb_contents_each(folder, remove_unfinished, NULL);
    (void)dlb_contents_each(folder, remove_one_scratch, &made);
    return made;
}

static void find_scratch(void *ctx, int folder, const char *name)
{
    bool *has = ctx;
    *has = *has || dlb_scratch_look(folder, name).kind == DLB_SCRATCH_HERE;
}

/* Of a folder that a killed run left, and that no process writes to now. */
static void clean_up(const char *path)
{
    struct dlb_contents there;
    struct dlb_err ignored;
    bool has = false;
    int fd = (int)TEMP_FAILURE_RETRY(
        open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd < 0)
        return;
    (void)dlb_contents_each(fd, find_scratch, &has);
    (void)close(fd);
    if (!has)
        return;
    if (dlb_contents_claim(path, O_NOFOLLOW, &fd) == DLB_CLAIM_LOCKED &&
        dlb_contents_of(fd, path, &there, &ignored) == DLB_OK && !there.foreign && !there.unfit &&
        dlb_contents_remove_leftovers(fd))
        (void)rmdir(path); /* fails if it holds anything */
    if (fd >= 0)
        (void)close(fd);
}

/* Asks nothing of a server: a mount point may hang. A folder without folders has two links, except
 * where the file system does not count them. */
static bool may_hold_folders(int folder, const char *name)
{
    struct statx st;
    return statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
                 STATX_TYPE | STATX_NLINK, &st) == 0 &&
           S_ISDIR(st.stx_mode) && st.stx_nlink != 2 &&
           !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static void clean_up_one(void *ctx, int folder, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", (const char *)ctx, name);
    if (n > 0 && (size_t)n < sizeof(path) && may_hold_folders(folder, name))
        clean_up(path);
}

void dlb_contents_remove_all_leftovers(const char *results)
{
    int fd = open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)dlb_contents_each(fd, clean_up_one, (void *)(uintptr_t)results);
    (void)close(fd);
}
