#include "formats/generate/target.h"

#include "core/base/io.h"
#include "core/base/units.h"
#include "formats/format.h"
#include "formats/generate/made.h"
#include "formats/generate/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MARK_MAX_BYTES = 1 << 20 };

int dlb_gen_make_folder(const char *path, struct dlb_err *err)
{
    char *part = strdup(path);
    int rc = DLB_OK;

    if (!part)
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for its name");
    for (char *end = part + 1; rc == DLB_OK; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            rc = dlb_gen_fail_write(err, part, DLB_NO_OFFSET, "making the folder");
        *end = kept;
        if (kept == '\0')
            break;
    }
    free(part);
    return rc;
}

/* Differs after every restart of the machine; empty where the kernel does not say. */
static void boot_id(char text[64])
{
    struct dlb_err ignored;
    char *read = NULL;
    size_t n = 0;

    text[0] = '\0';
    if (dlb_read_file("/proc/sys/kernel/random/boot_id", 4096, &read, &n, &ignored) == DLB_OK)
        (void)snprintf(text, 64, "%.*s", (int)strcspn(read, "\n"), read);
    free(read);
}

/* A fresh target: empty, writable, and large enough as far as one can tell now. */
static int check_fresh(const struct dlb_gen *gen, struct dlb_err *err)
{
    char foreign[64] = "";
    struct statvfs fs;

    int rc = dlb_made_foreign(gen->path, NULL, foreign, sizeof foreign, err);
    if (rc == DLB_END)
        return dlb_fail(err, DLB_ERR_CONFIG, gen->path, DLB_NO_OFFSET,
                        "holds \"%s\", which gen did not write: choose an empty or new folder as "
                        "dataset.path",
                        foreign);
    if (rc != DLB_OK)
        return rc;
    double need = (double)dlb_gen_total_bytes(gen);
    if (statvfs(gen->path, &fs) != 0)
        return DLB_OK;
    double left = (double)fs.f_bavail * (double)fs.f_frsize;
    char needed[40], left_text[40];
    if (need > left)
        return dlb_fail(err, DLB_ERR_IO, gen->path, DLB_NO_OFFSET,
                        "the disk is full: the data set needs %s, %s are free; lower "
                        "generate.samples or choose another dataset.path",
                        dlb_bytes_text((uint64_t)fmin(need, 0x1p63), needed, sizeof needed),
                        dlb_bytes_text((uint64_t)left, left_text, sizeof left_text));
    return DLB_OK;
}

/* {"params": ..., "boot": ...} */
static int write_mark(const char *path, json_t *params, struct dlb_err *err)
{
    char boot[64];
    int rc;

    boot_id(boot);
    json_t *mark = json_pack("{s:O, s:s}", "params", params, "boot", boot);
    char *text = mark ? json_dumps(mark, JSON_INDENT(1)) : NULL;
    if (text)
        rc = dlb_write_file_atomic(path, text, strlen(text), err);
    else
        rc = dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "no memory for the mark");
    free(text);
    json_decref(mark);
    return rc;
}

static int read_mark(const char *path, json_t **mark, struct dlb_err *err)
{
    char *text = NULL;
    size_t n_bytes = 0;

    int rc = dlb_read_file(path, MARK_MAX_BYTES, &text, &n_bytes, err);
    if (rc != DLB_OK)
        return rc;
    *mark = json_loadb(text, n_bytes, 0, NULL);
    free(text);
    if (!*mark)
        return dlb_fail(err, DLB_ERR_CONFIG, path, DLB_NO_OFFSET,
                        "damaged, so one cannot tell what was being written: remove the folder and "
                        "generate anew");
    return DLB_OK;
}

/* Resumes what the mark says, or starts and leaves one; `done`: to repair what was complete. */
static int take(struct dlb_gen_target *target, const struct dlb_gen *gen, const char *mark_path,
                bool done, struct dlb_err *err)
{
    json_t *mark = NULL;
    struct stat st;
    int rc;

    if (stat(mark_path, &st) == 0) {
        rc = read_mark(mark_path, &mark, err);
        if (rc == DLB_OK)
            rc = dlb_manifest_same(json_object_get(mark, "params"), target->params, gen->path, err);
        char boot[64];
        boot_id(boot);
        const char *then = json_string_value(json_object_get(mark, "boot"));
        target->suspect = then && strcmp(then, boot) != 0;
        json_decref(mark);
    } else {
        rc = done ? DLB_OK : check_fresh(gen, err);
        if (rc == DLB_OK)
            rc = write_mark(mark_path, target->params, err);
    }
    if (rc != DLB_OK)
        return rc;
    target->mark_fd = open(mark_path, O_RDWR | O_CLOEXEC);
    if (target->mark_fd < 0)
        return dlb_fail_errno(err, mark_path, DLB_NO_OFFSET, "opening the mark");
    /* A filesystem without locks only loses the guard against a second gen. */
    if (flock(target->mark_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return dlb_fail(err, DLB_ERR_CONFIG, gen->path, DLB_NO_OFFSET,
                        "another gen is writing here: wait for it, or stop it");
    if (fstat(target->mark_fd, &st) != 0 || st.st_nlink == 0)
        return dlb_fail(err, DLB_ERR_CONFIG, gen->path, DLB_NO_OFFSET,
                        "another gen has just finished here: run it again");
    return DLB_OK;
}

int dlb_gen_target_open(struct dlb_gen_target *target, const struct dlb_gen *gen,
                        struct dlb_err *err)
{
    json_t *manifest = NULL;
    struct stat st;
    int rc;

    *target = (struct dlb_gen_target){.mark_fd = -1, .params = dlb_manifest_params(gen)};
    char *mark_path = dlb_manifest_path(gen->path, DLB_INCOMPLETE_MARK);
    if (!target->params || !mark_path) {
        rc = dlb_fail(err, DLB_ERR_NOMEM, gen->path, DLB_NO_OFFSET, "no memory for the manifest");
        goto out;
    }
    if (stat(gen->path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        rc = dlb_fail(err, DLB_ERR_CONFIG, gen->path, DLB_NO_OFFSET,
                      "is not a folder: choose another dataset.path to generate into");
        goto out;
    }
    rc = dlb_manifest_load(gen->path, &manifest, err);
    if (rc == DLB_OK && manifest)
        rc = dlb_manifest_same(json_object_get(manifest, "params"), target->params, gen->path, err);
    if (rc != DLB_OK)
        goto out;
    bool done = manifest && stat(mark_path, &st) != 0;
    if (done) {
        rc = dlb_made_check(gen, false, &target->made, err);
        target->complete = target->made.noted && target->made.n_bad == 0;
        if (rc != DLB_OK || target->complete)
            goto out;
    }
    rc = dlb_gen_make_folder(gen->path, err);
    if (rc == DLB_OK)
        rc = take(target, gen, mark_path, done, err);
    if (rc == DLB_OK) /* a gen that was killed while it repaired comes here, too */
        rc = dlb_made_check(gen, true, &target->made, err);
out:
    free(mark_path);
    json_decref(manifest);
    return rc;
}

int dlb_gen_target_finish(struct dlb_gen_target *target, const struct dlb_gen *gen,
                          struct dlb_err *err)
{
    char *mark_path = dlb_manifest_path(gen->path, DLB_INCOMPLETE_MARK);
    json_t *manifest = json_pack("{s:i, s:O, s:I}", "dlbench_manifest", 1, "params", target->params,
                                 "samples", (json_int_t)gen->opts->samples);
    int rc = DLB_OK;

    if (!mark_path || !manifest)
        rc = dlb_fail(err, DLB_ERR_NOMEM, gen->path, DLB_NO_OFFSET, "no memory for the manifest");
    if (rc == DLB_OK && syncfs(target->mark_fd) != 0)
        rc = dlb_gen_fail_write(err, gen->path, DLB_NO_OFFSET, "syncing to disk");
    if (rc == DLB_OK && gen->format->generator->describe)
        rc = gen->format->generator->describe(gen, manifest, err);
    if (rc == DLB_OK)
        rc = dlb_made_note(gen, err);
    if (rc == DLB_OK)
        rc = dlb_manifest_save(gen->path, manifest, err);
    if (rc == DLB_OK && unlink(mark_path) != 0)
        rc = dlb_fail_errno(err, mark_path, DLB_NO_OFFSET, "removing the mark");
    json_decref(manifest);
    free(mark_path);
    return rc;
}

void dlb_gen_target_close(struct dlb_gen_target *target)
{
    json_decref(target->params);
    if (target->mark_fd >= 0)
        (void)close(target->mark_fd);
    *target = (struct dlb_gen_target){.mark_fd = -1};
}
