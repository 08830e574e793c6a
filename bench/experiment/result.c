#include "bench/experiment/result.h"

#include "bench/experiment/contents.h"
#include "bench/experiment/names.h"
#include "bench/experiment/replace.h"
#include "bench/experiment/scratch.h"
#include "bench/experiment/write.h"
#include "core/base/escape.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"
#include "core/base/shell.h"
#include "reports/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAMES_TRIED 1000
#define LOCKS_TRIED 50 /* for half a second: another run looks there for leftovers */
#define LOCK_WAIT_NS 10000000

static void choose_name(const struct dlb_args *args, const char *verb, char *name, size_t n_name)
{
    char when[32] = "";
    struct tm now;
    time_t seconds = time(NULL);
    if (args->run_name) {
        (void)snprintf(name, n_name, "%s", args->run_name);
        return;
    }
    if (localtime_r(&seconds, &now))
        (void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &now);
    const char *base = args->config_path ? strrchr(args->config_path, '/') : NULL;
    base = base ? base + 1 : args->config_path ? args->config_path : "";
    int stem = (int)strcspn(base, ".");
    (void)snprintf(name, n_name, "%.*s%s%s-%s", DLB_CUT_KEY(base, (size_t)stem, 100),
                   stem > 0 ? "-" : "", verb, when);
}

/* An existing folder is fine, even on a read-only mount, where mkdir fails otherwise. */
static int make_folder(const char *path, struct dlb_err *err)
{
    struct stat st;
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return DLB_OK;
    int code = errno;
    if (stat(path, &st) == 0)
        return DLB_OK;
    errno = code;
    return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot make the results folder");
}

/* mkdir -p. */
static int make_folders(const char *path, struct dlb_err *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof(part))
        return dlb_fail(err, DLB_ERR_RESULT_PATH, "--results", DLB_NO_OFFSET,
                        len ? "the path is too long" : "the path is empty: name a folder");
    memcpy(part, path, len + 1);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        int rc = make_folder(part, err);
        if (rc)
            return rc;
        *at = '/';
    }
    struct stat st;
    int rc = make_folder(part, err);
    if (rc)
        return rc;
    if (stat(part, &st) || !S_ISDIR(st.st_mode))
        return dlb_fail(err, DLB_ERR_NOT_A_FOLDER, path, DLB_NO_OFFSET,
                        "is not a directory; --results needs a writable one");
    return DLB_OK;
}

/* One process at a time writes into a result. On a file system that cannot lock folders the result
 * is written without this guard. */
static int lock_folder(struct dlb_result_folder *out, struct dlb_err *err)
{
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};
    struct dlb_contents there = {.pid = 0};
    enum dlb_claim claim = DLB_CLAIM_NONE;
    int code = ENOENT;
    for (int i = 0; i < LOCKS_TRIED; i++) {
        claim = dlb_contents_claim(out->path, 0, &out->lock_fd);
        code = errno;
        if (claim >= DLB_CLAIM_UNLOCKED) {
            out->locked = claim == DLB_CLAIM_LOCKED;
            return DLB_OK;
        }
        if (claim == DLB_CLAIM_TAKEN && i + 1 < LOCKS_TRIED) {
            (void)close(out->lock_fd);
            out->lock_fd = -1;
            (void)nanosleep(&wait, NULL);
        } else if (claim == DLB_CLAIM_NONE && code == ENOENT) {
            out->made = mkdir(out->path, 0777) == 0 || out->made; /* another run removed it */
        } else {
            break;
        }
    }
    errno = code;
    if (claim == DLB_CLAIM_NONE)
        return dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot open the result's folder");
    if (dlb_contents_of(out->lock_fd, out->path, &there, err) || there.pid <= 0)
        return dlb_fail(err, DLB_ERR_RESULT_LOCKED, out->path, DLB_NO_OFFSET,
                        "another dlbench writes there: wait for it, or give another --run-name");
    return dlb_fail(err, DLB_ERR_RESULT_LOCKED, out->path, DLB_NO_OFFSET,
                    "another dlbench writes there (pid %ld): wait for it, or give another "
                    "--run-name",
                    there.pid);
}

/* Only a result is ever replaced, and only with --overwrite. */
static int check_contents(struct dlb_result_folder *out, bool overwrite, struct dlb_err *err)
{
    struct dlb_contents there;
    int rc = dlb_contents_of(out->lock_fd, out->path, &there, err);
    if (rc)
        return rc;
    if (there.unfinished && !there.unfit && !overwrite)
        return dlb_fail(err, DLB_ERR_RESULT_UNFINISHED, out->path, DLB_NO_OFFSET,
                        "holds a run that did not end: --resume goes on with it, --overwrite "
                        "measures again");
    if (there.summary && !there.unfit && !overwrite)
        return dlb_fail(err, DLB_ERR_RESULT_EXISTS, out->path, DLB_NO_OFFSET,
                        "holds a result already: give another --run-name, or --overwrite");
    if (there.unfit || (there.foreign && !there.summary))
        return dlb_fail(err, DLB_ERR_RESULT_FOREIGN, out->path, DLB_NO_OFFSET,
                        "holds \"%s\", which dlbench did not write, %s: give another --run-name or "
                        "--results",
                        there.other, there.unfit ? "where a result would be" : "and no result");
    out->replaces = there.summary;
    if (there.leftover && !there.summary)
        dlb_say_note("%s holds what a killed run left, and no summary: it is used again",
                     out->path);
    return DLB_OK;
}

/* A folder that the user named may exist already. A name chosen here gets a number until it is new,
 * because another run may have begun in the same second. */
static int make_result_folder(const struct dlb_args *args, const char *verb,
                              struct dlb_result_folder *out, struct dlb_err *err)
{
    choose_name(args, verb, out->name, sizeof(out->name));
    size_t len = strlen(out->name);
    for (int number = 2;; number++) {
        int rc = dlb_result_join(out->path, args->results_dir, out->name, err);
        if (rc)
            return rc;
        out->made = mkdir(out->path, 0777) == 0;
        if (!out->made && errno != EEXIST)
            return dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot make the result's folder");
        if (out->made || args->run_name || number > NAMES_TRIED)
            return DLB_OK;
        (void)snprintf(out->name + len, sizeof(out->name) - len, "-%d", number);
    }
}

static void remove_scratch(const struct dlb_result_folder *folder)
{
    const char *name = strrchr(folder->scratch, '/');
    if (name && folder->lock_fd >= 0 && folder->owner == getpid())
        dlb_scratch_remove(folder->lock_fd, name + 1);
    if (folder->made)
        (void)rmdir(folder->path); /* fails if it holds anything */
}

/* Before the process ends because memory is short (core/base/mem.h). Forked children inherit the
 * hook, but the folder is their parent's. */
static void put_in_order(void *ctx)
{
    const struct dlb_result_folder *folder = ctx;
    if (getpid() == folder->owner)
        remove_scratch(folder);
}

/* A folder of this name may be of a run on another machine with a process of the same number. */
static int make_scratch(struct dlb_result_folder *out, struct dlb_err *err)
{
    if (dlb_scratch_make(out->lock_fd, out->made)) {
        out->owner = getpid();
        dlb_mem_at_exhaustion(put_in_order, out);
        return DLB_OK;
    }
    if (errno == EEXIST)
        return dlb_fail(err, DLB_ERR_RESULT_LOCKED, out->path, DLB_NO_OFFSET,
                        "holds %s, which is not this run's: give another --run-name, or remove it "
                        "if no run on another machine uses it",
                        strrchr(out->scratch, '/') + 1);
    return dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot write to the result's folder");
}

int dlb_result_open(const struct dlb_args *args, const char *verb, struct dlb_result_folder *out,
                    struct dlb_err *err)
{
    memset(out, 0, sizeof(*out));
    out->lock_fd = -1;
    char scratch[32];
    dlb_scratch_name(scratch, sizeof(scratch));
    int rc = make_folders(args->results_dir, err);
    if (!rc) {
        dlb_replace_recover(args->results_dir);
        dlb_contents_remove_all_leftovers(args->results_dir);
    }
    if (!rc)
        rc = make_result_folder(args, verb, out, err);
    if (!rc)
        rc = dlb_result_join(out->scratch, out->path, scratch, err);
    if (rc)
        return rc;
    rc = lock_folder(out, err);
    if (!rc)
        rc = check_contents(out, args->overwrite, err);
    if (!rc && out->locked)
        (void)dlb_contents_remove_leftovers(out->lock_fd);
    return rc ? rc : make_scratch(out, err);
}

int dlb_result_may_open(const struct dlb_args *args, struct dlb_err *err)
{
    struct dlb_result_folder there = {.lock_fd = -1};
    if (!args->run_name)
        return DLB_OK;
    int rc = dlb_result_join(there.path, args->results_dir, args->run_name, err);
    if (rc)
        return rc;
    enum dlb_claim claim = dlb_contents_claim(there.path, 0, &there.lock_fd);
    if (claim == DLB_CLAIM_NONE)
        return errno == ENOENT ? DLB_OK
                               : dlb_fail_errno(err, there.path, DLB_NO_OFFSET,
                                                "cannot open the result's folder");
    rc = check_contents(&there, args->overwrite, err);
    (void)close(there.lock_fd);
    return rc;
}

/* Divides the path that --resume names: the folder of results, and the name of this one. */
static int name_folder(const char *dir, char results[PATH_MAX], struct dlb_result_folder *out,
                       struct dlb_err *err)
{
    char path[PATH_MAX];
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    int n_path = snprintf(path, sizeof(path), "%.*s", (int)n, dir);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (n_path <= 0 || (size_t)n_path >= sizeof(path) || strlen(name) >= sizeof(out->name))
        return dlb_fail(err, DLB_ERR_RESULT_PATH, "--resume", DLB_NO_OFFSET,
                        n_path > 0 ? "the path is too long" : "the path is empty: name a folder");
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        char real[PATH_MAX];
        if (!realpath(path, real))
            return dlb_fail_errno(err, dir, DLB_NO_OFFSET, "cannot find the result's folder");
        if (strcmp(real, "/") == 0)
            return dlb_fail(err, DLB_ERR_RESUME_NOTHING, dir, DLB_NO_OFFSET,
                            "is the root folder, which is no result's");
        return name_folder(real, results, out, err);
    }
    memcpy(out->path, path, sizeof(path));
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    (void)snprintf(results, PATH_MAX, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1,
                   slash ? path : ".");
    return DLB_OK;
}

static int check_resumed(struct dlb_result_folder *out, struct dlb_err *err)
{
    struct dlb_contents there;
    int rc = dlb_contents_of(out->lock_fd, out->path, &there, err);
    if (rc)
        return rc;
    if (there.unfit)
        return dlb_fail(err, DLB_ERR_RESULT_FOREIGN, out->path, DLB_NO_OFFSET,
                        "holds \"%s\", which dlbench did not write, and which the run's result "
                        "would replace: move it out of the folder, and use --resume again",
                        there.other);
    if (!there.journal)
        return dlb_fail(err, DLB_ERR_RESUME_NOTHING, out->path, DLB_NO_OFFSET,
                        "holds nothing to resume: its run has ended, or did not begin");
    out->replaces = there.summary; /* the caller knows whether it is the run's own */
    return DLB_OK;
}

int dlb_result_reopen(const char *dir, struct dlb_result_folder *out, struct dlb_err *err)
{
    char results[PATH_MAX], scratch[32];
    struct stat st;
    memset(out, 0, sizeof(*out));
    out->lock_fd = -1;
    dlb_scratch_name(scratch, sizeof(scratch));
    int rc = name_folder(dir, results, out, err);
    if (!rc && stat(out->path, &st) != 0)
        rc = dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot resume it");
    if (!rc) {
        dlb_replace_recover(results);
        dlb_contents_remove_all_leftovers(results);
        rc = dlb_result_join(out->scratch, out->path, scratch, err);
    }
    if (!rc)
        rc = lock_folder(out, err);
    if (!rc)
        rc = check_resumed(out, err);
    if (!rc && out->locked)
        (void)dlb_contents_remove_leftovers(out->lock_fd);
    return rc ? rc : make_scratch(out, err);
}

int dlb_result_journal(const struct dlb_result_folder *folder, char path[PATH_MAX],
                       struct dlb_err *err)
{
    return dlb_result_join(path, folder->path, DLB_JOURNAL_NAME, err);
}

void dlb_result_end_journal(const struct dlb_result_folder *folder)
{
    (void)unlinkat(folder->lock_fd, DLB_JOURNAL_NAME, 0);
}

bool dlb_result_end_empty_journal(const struct dlb_result_folder *folder)
{
    struct dlb_contents there;
    struct dlb_err ignored;
    if (dlb_contents_of(folder->lock_fd, folder->path, &there, &ignored) || there.unfinished)
        return false;
    if (there.journal)
        dlb_result_end_journal(folder);
    return true;
}

void dlb_result_close(const struct dlb_result_folder *folder)
{
    dlb_mem_at_exhaustion(NULL, NULL);
    remove_scratch(folder);
    if (folder->lock_fd >= 0)
        (void)close(folder->lock_fd);
}

int dlb_result_begin(const struct dlb_result_folder *folder, const json_t *environment,
                     struct dlb_err *err)
{
    return folder->replaces ? DLB_OK
                            : dlb_result_write(folder->path, NULL, environment, NULL, NULL, err);
}

/* Whatever has the folder's place now is not ours to write to. */
static int check_place(const struct dlb_result_folder *folder, struct dlb_err *err)
{
    return dlb_contents_is_at(folder->lock_fd, folder->path)
               ? DLB_OK
               : dlb_fail(err, DLB_ERR_JOURNAL_LOST, folder->path, DLB_NO_OFFSET,
                          "the result's folder was moved, removed or replaced while dlbench wrote "
                          "to it; the journal went with it: --resume the folder where it is now, "
                          "if it is anywhere");
}

void dlb_result_save(const struct dlb_result_folder *folder, const json_t *doc)
{
    struct dlb_err ignored; /* dlb_result_finish meets the same error, and reports it */
    if (!folder->replaces && check_place(folder, &ignored) == DLB_OK)
        (void)dlb_result_write_part(folder->path, doc, &ignored);
}

/* Opens and locks the folder, and marks it as being written to; -1, and errno: it holds what is not
 * ours, a result other than that of an interrupted run of this name, another process writes there
 * (EWOULDBLOCK), or it cannot be written to. */
static int claim_aside(const char *folder, bool made, const char *run_name)
{
    struct dlb_contents there;
    struct dlb_err ignored;
    int fd, code;
    enum dlb_claim claim = dlb_contents_claim(folder, O_NOFOLLOW, &fd);
    if (claim >= DLB_CLAIM_UNLOCKED && dlb_contents_of(fd, folder, &there, &ignored) == DLB_OK &&
        !there.foreign && !there.unfit &&
        (!there.summary || (there.interrupted && strcmp(there.run_name, run_name) == 0))) {
        if (claim == DLB_CLAIM_LOCKED)
            (void)dlb_contents_remove_leftovers(fd);
        if (dlb_scratch_make(fd, made))
            return fd;
    }
    code = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = code;
    return -1;
}

/* The same of a folder that is made where it is not there; -1, and EEXIST: the name is taken. */
static int make_aside(const char *folder, const char *run_name)
{
    bool made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST)
        return -1;
    int fd = claim_aside(folder, made, run_name);
    int code = made && errno != EWOULDBLOCK ? errno : EEXIST;
    if (fd < 0 && made)
        (void)rmdir(folder);
    errno = code;
    return fd;
}

/* Writes all files to a folder beside the earlier result: to NAME.partial, or to the first of
 * NAME.partial-2 ... that holds nothing but what an earlier run left. */
static int write_aside(struct dlb_result_folder *folder, const json_t *environment,
                       const json_t *doc, struct dlb_err *err)
{
    char aside[PATH_MAX], number[16] = "";
    const char *name = dlb_json_text(doc, "run_name");
    int fd = -1;
    for (int i = 2; fd < 0; i++) {
        int n = snprintf(aside, sizeof(aside), "%s.partial%s", folder->path, number);
        if (n < 0 || (size_t)n >= sizeof(aside))
            return dlb_fail(err, DLB_ERR_RESULT_PATH, folder->path, DLB_NO_OFFSET,
                            "the path is too long");
        fd = make_aside(aside, name);
        if (fd < 0 && (errno != EEXIST || i > NAMES_TRIED))
            return dlb_fail_errno(err, aside, DLB_NO_OFFSET, "cannot make the folder");
        (void)snprintf(number, sizeof(number), "-%d", i);
    }
    memcpy(folder->written, aside, sizeof(folder->written));
    const struct dlb_replaced old = {folder->scratch, &fd};
    int rc = dlb_result_write(aside, &old, environment, doc, &folder->spared, err);
    dlb_scratch_remove(fd, strrchr(folder->scratch, '/') + 1);
    (void)close(fd);
    return rc;
}

int dlb_result_finish(struct dlb_result_folder *folder, const json_t *environment,
                      const json_t *doc, enum dlb_result_part part, struct dlb_err *err)
{
    if (folder->replaces && part == DLB_RESULT_NOTHING)
        return dlb_fail(err, DLB_ERR_RESULT_KEPT, folder->path, DLB_NO_OFFSET,
                        "the earlier result is kept: this run measured nothing to replace it with");
    int rc = check_place(folder, err);
    if (rc)
        return rc;
    if (folder->replaces && part == DLB_RESULT_PART)
        return write_aside(folder, environment, doc, err);
    memcpy(folder->written, folder->path, sizeof(folder->written));
    if (!folder->replaces)
        return dlb_result_write(folder->path, NULL, NULL, doc, &folder->spared, err);
    const struct dlb_replaced old = {folder->scratch, &folder->lock_fd};
    return dlb_result_write(folder->path, &old, environment, doc, &folder->spared, err);
}

void dlb_result_say_resume(const struct dlb_result_folder *folder, const struct dlb_args *args,
                           const char *verb)
{
    struct dlb_contents there;
    struct dlb_err ignored;
    bool looked = dlb_contents_of(folder->lock_fd, folder->path, &there, &ignored) == DLB_OK;
    if ((looked && !there.unfinished) || !dlb_contents_is_at(folder->lock_fd, folder->path))
        return;
    char *path = dlb_shell_word(folder->path);
    if (args->measures) { /* the journal has A's configuration alone */
        char *a = dlb_shell_word(args->path), *b = dlb_shell_word(args->beside[0]);
        dlb_say(stderr, "dlbench: to go on with it: dlbench %s --run %s %s --resume %s", verb, a, b,
                path);
        free(a);
        free(b);
    } else {
        dlb_say(stderr, "dlbench: to go on with it: dlbench %s --resume %s", verb, path);
    }
    free(path);
}

void dlb_result_say_interrupted(const struct dlb_result_folder *folder)
{
    if (!folder->written[0])
        dlb_say(stderr, "dlbench: interrupted before anything was measured");
    else if (folder->replaces)
        dlb_say(stderr,
                "dlbench: interrupted: the earlier result in %s is kept; what was measured so far "
                "is in %s",
                folder->path, folder->written);
    else
        dlb_say(stderr, "dlbench: interrupted: the result holds what was measured so far");
}
