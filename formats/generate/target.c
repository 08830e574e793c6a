#include "formats/generate/target.h"

#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "formats/generate/file.h"
#include "formats/generate/listed.h"
#include "formats/generate/manifest.h"
#include "formats/generate/owned.h"
#include "formats/generate/stale.h"

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

static bool compresses(const struct dlb_gen *gen)
{
    const struct dlb_generator *generator = gen->format->generator;
    return gen->codec->make_compresses || (generator->compresses && generator->compresses(gen));
}

/* How small compressed data get is not known: the disk may turn out to be full while gen writes. */
static int check_space(const struct dlb_gen *gen, struct dlb_err *err)
{
    char needed[40], left_text[40];
    struct statvfs fs;

    if (compresses(gen) || statvfs(gen->path, &fs) != 0)
        return DLB_OK;
    double need = (double)dlb_gen_total_bytes(gen);
    double left = (double)fs.f_bavail * (double)fs.f_frsize;
    if (need > left)
        return dlb_fail(err, DLB_ERR_NO_SPACE, gen->path, DLB_NO_OFFSET,
                        "the disk is full: the data set needs %s, %s are free; lower "
                        "generate.samples or choose another dataset.path",
                        dlb_bytes_text((uint64_t)fmin(need, 0x1p63), needed, sizeof needed),
                        dlb_bytes_text((uint64_t)left, left_text, sizeof left_text));
    return DLB_OK;
}

/* A new target must be empty, and its disk large enough. */
static int check_fresh(const struct dlb_gen *gen, struct dlb_err *err)
{
    char foreign[64] = "";

    int rc = dlb_owned_check_fresh(gen->path, foreign, sizeof foreign, err);
    if (rc == DLB_END)
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, gen->path, DLB_NO_OFFSET,
                        "holds \"%s\", which gen did not write: choose an empty or new folder as "
                        "dataset.path",
                        foreign);
    return rc == DLB_OK ? check_space(gen, err) : rc;
}

/* Behind a link gen would write to, and remove, what is somewhere else. */
static int check_links(const struct dlb_gen *gen, struct dlb_err *err)
{
    char link[96] = "";
    int rc = dlb_owned_check_links(gen->path, link, sizeof link, err);

    if (rc == DLB_END && !link[0])
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, gen->path, DLB_NO_OFFSET,
                        "is a link to what is not there: make that folder, or choose another "
                        "dataset.path");
    if (rc == DLB_END)
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, gen->path, DLB_NO_OFFSET,
                        "holds the link \"%s\", which gen did not make and does not follow: remove "
                        "the link, or choose another dataset.path",
                        link);
    return rc;
}

/* Resumes the data set that the mark names, or writes a mark. `done`: the data set was complete and
 * is to be repaired. */
static int take(struct dlb_gen_target *target, const struct dlb_gen *gen, const char *mark_path,
                bool done, struct dlb_err *err)
{
    struct dlb_gen_mark mark = {.params = NULL};
    struct stat st;
    int rc;

    if (stat(mark_path, &st) == 0) {
        rc = dlb_gen_mark_read(mark_path, &mark, err);
        if (rc == DLB_OK)
            rc = dlb_manifest_same(mark.params, target->params, gen->path, err);
        target->suspect = mark.restarted;
        memcpy(target->id, mark.id, sizeof target->id);
        json_decref(mark.params);
    } else {
        rc = done ? DLB_OK : check_fresh(gen, err);
        if (rc == DLB_OK)
            rc = dlb_gen_mark_write(mark_path, target->params, target->id, err);
    }
    if (rc != DLB_OK)
        return rc;
    target->mark_fd = open(mark_path, O_RDWR | O_CLOEXEC);
    if (target->mark_fd < 0)
        return dlb_fail_errno(err, mark_path, DLB_NO_OFFSET, "opening the mark");
    /* A file system without locks has no guard against a second gen. */
    if (flock(target->mark_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return dlb_fail(err, DLB_ERR_TARGET_BUSY, gen->path, DLB_NO_OFFSET,
                        "another gen writes to this folder: wait for it, or stop it");
    if (fstat(target->mark_fd, &st) != 0 || st.st_nlink == 0)
        return dlb_fail(err, DLB_ERR_TARGET_BUSY, gen->path, DLB_NO_OFFSET,
                        "another gen has just finished this folder: run it again");
    return DLB_OK;
}

/* Whether the files of a data set with its manifest are as gen wrote them. A list with files of
 * somebody else is written again, without a mark: the data do not change, and need not be closed to
 * readers. Where that fails, such as on a read-only mount, the data are complete all the same. */
static int check_complete(struct dlb_gen_target *target, const struct dlb_gen *gen,
                          struct dlb_err *err)
{
    struct dlb_err ignored;
    int rc = dlb_made_check(gen, false, &target->made, err);

    target->complete = rc == DLB_OK && target->made.noted && target->made.n_bad == 0;
    if (!target->complete || !target->made.others)
        return rc;
    rc = check_links(gen, err);
    if (rc == DLB_OK)
        (void)dlb_listed_save(gen->path, gen->format, gen, &ignored);
    return rc;
}

int dlb_gen_target_open(struct dlb_gen_target *target, const struct dlb_gen *gen,
                        struct dlb_err *err)
{
    json_t *manifest = NULL;
    struct stat st;
    int rc;

    *target = (struct dlb_gen_target){.mark_fd = -1, .params = dlb_manifest_params(gen)};
    char *mark_path = dlb_mem_check(dlb_path_join(gen->path, DLB_INCOMPLETE_MARK));
    if (stat(gen->path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        rc = dlb_fail(err, DLB_ERR_TARGET_NOT_A_FOLDER, gen->path, DLB_NO_OFFSET,
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
        rc = check_complete(target, gen, err);
        if (rc != DLB_OK || target->complete)
            goto out;
    }
    rc = dlb_gen_make_folder(gen->path, err);
    if (rc == DLB_OK)
        rc = check_links(gen, err);
    if (rc == DLB_OK)
        rc = take(target, gen, mark_path, done, err);
    if (rc == DLB_OK) /* also after a gen that was killed during a repair */
        rc = dlb_made_check(gen, true, &target->made, err);
    if (rc == DLB_OK)
        dlb_stale_remove(gen->path);
out:
    free(mark_path);
    json_decref(manifest);
    return rc;
}

/* NFS remembers that a file was not there. Opening its folder asks the server again. */
static bool is_marked(const char *folder)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool marked = fd >= 0 && fstatat(fd, DLB_INCOMPLETE_MARK, &st, 0) == 0;

    if (fd >= 0)
        (void)close(fd);
    return marked;
}

int dlb_gen_target_is_shared(const struct dlb_gen *gen, const char *id, struct dlb_err *err)
{
    struct dlb_gen_mark mark = {.params = NULL};
    char *mark_path = dlb_mem_check(dlb_path_join(gen->path, DLB_INCOMPLETE_MARK));
    json_t *params = dlb_manifest_params(gen);
    bool marked = is_marked(gen->path);
    int rc = marked ? dlb_gen_mark_read(mark_path, &mark, err) : DLB_OK;

    if (rc == DLB_OK && marked && id[0] == '\0')
        rc = dlb_fail(
            err, DLB_ERR_RANKS_DATA, gen->path, DLB_NO_OFFSET,
            "was begun by an older dlbench, so that ranks cannot tell whether they see the "
            "same folder: run the same gen without a launcher, or remove the folder");
    if (rc == DLB_OK && (!marked || strcmp(mark.id, id) != 0))
        rc = dlb_fail(err, DLB_ERR_RANKS_DATA, gen->path, DLB_NO_OFFSET,
                      "is not the folder that rank 0 writes to: choose a dataset.path that all "
                      "ranks share");
    if (rc == DLB_OK)
        rc = dlb_manifest_same(mark.params, params, gen->path, err);
    json_decref(mark.params);
    json_decref(params);
    free(mark_path);
    return rc;
}

int dlb_gen_target_finish(struct dlb_gen_target *target, const struct dlb_gen *gen,
                          struct dlb_err *err)
{
    char *mark_path = dlb_mem_check(dlb_path_join(gen->path, DLB_INCOMPLETE_MARK));
    json_t *manifest =
        dlb_json_made(json_pack("{s:i, s:O, s:I}", "dlbench_manifest", 1, "params", target->params,
                                "samples", (json_int_t)gen->opts->samples));
    int rc = DLB_OK;

    if (syncfs(target->mark_fd) != 0)
        rc = dlb_gen_fail_write(err, gen->path, DLB_NO_OFFSET, "syncing to disk");
    if (rc == DLB_OK && gen->format->generator->describe)
        rc = gen->format->generator->describe(gen, manifest, err);
    if (rc == DLB_OK)
        rc = dlb_listed_save(gen->path, gen->format, gen, err);
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
