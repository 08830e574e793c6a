#include "bench/experiment/write.h"

#include "bench/experiment/replace.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "reports/report.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILES 8 /* of a result */

int dlb_result_join(char out[PATH_MAX], const char *folder, const char *name, struct dlb_err *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || n >= PATH_MAX)
        return dlb_fail(err, DLB_ERR_RESULT_PATH, folder, DLB_NO_OFFSET, "the path is too long");
    return DLB_OK;
}

/* A result's files in memory. All are rendered before the first is written: if memory ends while
 * rendering, the result on disk is still whole. */
struct rendered {
    const char *name[MAX_FILES];
    struct dlb_text text[MAX_FILES];
    uint32_t n, n_needed; /* the result is whole with the first n_needed */
};

static void add_json(struct rendered *files, const char *name, const json_t *doc)
{
    char *text = dlb_json_dumped(doc, JSON_INDENT(2));
    files->name[files->n] = name;
    files->text[files->n++] = (struct dlb_text){.data = text, .len_bytes = strlen(text)};
    files->n_needed = files->n;
}

/* `spares`: those that the result does not need, too. */
static void add_reports(struct rendered *files, const char *folder, const json_t *doc, bool spares)
{
    struct dlb_report_opts opts = {.folder = folder};
    for (size_t i = 0; dlb_reports[i]; i++) {
        if (!dlb_reports[i]->file || (dlb_reports[i]->spare && !spares))
            continue;
        if (files->n == MAX_FILES)
            DLB_BUG("a result has more files than MAX_FILES");
        dlb_reports[i]->render(doc, &opts, &files->text[files->n]);
        files->name[files->n++] = dlb_reports[i]->file;
        if (!dlb_reports[i]->spare)
            files->n_needed = files->n;
    }
}

static int write_files(const void *rendered, const char *folder, struct dlb_err *err)
{
    const struct rendered *files = rendered;
    char paths[MAX_FILES][PATH_MAX];
    struct dlb_file_out out[MAX_FILES];
    for (uint32_t i = 0; i < files->n; i++) {
        int rc = dlb_result_join(paths[i], folder, files->name[i], err);
        if (rc)
            return rc;
        out[i] = (struct dlb_file_out){
            .path = paths[i], .data = files->text[i].data, .n_bytes = files->text[i].len_bytes};
    }
    return dlb_write_files_atomic(out, files->n, err);
}

static int replace_or_write(const char *folder, const struct dlb_replaced *old,
                            const struct rendered *files, struct dlb_err *err)
{
    if (old && dlb_replace_folder(folder, old->scratch, write_files, files, old->lock_fd))
        return DLB_OK;
    return write_files(files, folder, err);
}

/* No page of an earlier document stays beside a new one. */
static void remove_spares(const char *folder)
{
    char path[PATH_MAX];
    struct dlb_err ignored;
    for (size_t i = 0; dlb_reports[i]; i++)
        if (dlb_reports[i]->file && dlb_reports[i]->spare &&
            dlb_result_join(path, folder, dlb_reports[i]->file, &ignored) == DLB_OK)
            (void)unlink(path);
}

/* A page is the largest of a result's files, and can be made again. Where not all can be written,
 * those that the result needs are. */
static int write_needed(const char *folder, const struct dlb_replaced *old,
                        const struct rendered *files, struct dlb_err *err)
{
    struct rendered needed = *files;
    needed.n = files->n_needed;
    int rc = replace_or_write(folder, old, &needed, err);
    if (!rc)
        remove_spares(folder);
    return rc;
}

static void free_texts(struct rendered *files)
{
    for (uint32_t i = 0; i < files->n; i++)
        dlb_text_free(&files->text[i]);
}

int dlb_result_write_part(const char *folder, const json_t *doc, struct dlb_err *err)
{
    struct rendered files = {.n = 0};
    add_reports(&files, folder, doc, false);
    int rc = write_needed(folder, NULL, &files, err);
    free_texts(&files);
    return rc;
}

int dlb_result_write(const char *folder, const struct dlb_replaced *old, const json_t *environment,
                     const json_t *doc, struct dlb_spared *spared, struct dlb_err *err)
{
    struct rendered files = {.n = 0};
    struct dlb_err first;
    if (environment)
        add_json(&files, "environment.json", environment);
    if (doc)
        add_reports(&files, folder, doc, true);
    int rc = replace_or_write(folder, old, &files, err);
    if (rc && files.n_needed < files.n) {
        first = *err;
        rc = write_needed(folder, old, &files, err);
        if (!rc && spared)
            *spared = (struct dlb_spared){true, first};
    }
    free_texts(&files);
    return rc;
}
