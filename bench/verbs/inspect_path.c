#include "bench/verbs/inspect_path.h"

#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/shell.h"
#include "formats/dataset.h"
#include "reports/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int any_entry(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    (void)ctx, (void)entry, (void)err;
    return DLB_END; /* one is enough */
}

static bool is_result(const char *path)
{
    char file[4096];

    if ((size_t)snprintf(file, sizeof file, "%s/summary.json", path) >= sizeof file)
        return false;
    struct dlb_err ignored;
    char *text = NULL;
    size_t n_bytes = 0;
    if (dlb_read_file(file, DLB_SUMMARY_MAX_BYTES, &text, &n_bytes, &ignored) != DLB_OK)
        return false;
    json_t *summary = dlb_summary_recognise(text, n_bytes);
    free(text);
    json_decref(summary);
    return summary != NULL;
}

static int fail_empty(const char *path, struct dlb_err *err)
{
    char *setting = dlb_shell_path_setting("dataset.path", path);

    (void)dlb_fail(err, DLB_ERR_INSPECT_EMPTY_FOLDER, path, DLB_NO_OFFSET,
                   "is an empty folder: name one that holds data, or write some into it with "
                   "`dlbench gen --set %s`",
                   setting);
    free(setting);
    return dlb_failed(err);
}

/* Paths that cannot be a data set of any format. */
static int check_path(const char *path, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    int status = dlb_dataset_check_local(path, err);

    if (status == DLB_OK)
        status = dlb_io_posix.stat(path, &kind, &n_bytes, err);
    if (status == DLB_OK && kind == DLB_IO_OTHER)
        return dlb_fail(err, DLB_ERR_INSPECT_SPECIAL_FILE, path, DLB_NO_OFFSET,
                        "is a pipe, a socket or a device: data sets are regular files and folders");
    if (status != DLB_OK || kind != DLB_IO_DIR)
        return status;
    status = dlb_io_posix.list(path, any_entry, NULL, err);
    if (status == DLB_OK)
        return fail_empty(path, err);
    if (status != DLB_END)
        return status;
    if (is_result(path))
        return dlb_fail(err, DLB_ERR_INSPECT_A_RESULT, path, DLB_NO_OFFSET,
                        "is a result, not a data set: `dlbench report` with this path shows it");
    return DLB_OK;
}

static int unknown(const char *path, struct dlb_err *err)
{
    char tried[96] = "";

    for (const struct dlb_format *const *format = dlb_formats; *format; format++) {
        size_t len = strlen(tried);
        if (!(*format)->synthetic)
            (void)snprintf(tried + len, sizeof tried - len, "%s%s%s", len ? ", " : "",
                           (*format)->name, (*format)->missing ? " (not in this build)" : "");
    }
    return dlb_fail(err, DLB_ERR_INSPECT_UNKNOWN, path, DLB_NO_OFFSET,
                    "no format recognises it; tried: %s", tried);
}

const struct dlb_format *dlb_inspect_format(const char *path, struct dlb_err *err)
{
    const struct dlb_format *best = NULL;
    int best_score = 0;

    int status = check_path(path, err);
    for (const struct dlb_format *const *format = dlb_formats; *format; format++) {
        int score =
            (*format)->missing || !(*format)->probe ? 0 : (*format)->probe(path, &dlb_io_posix);
        if (score > best_score) {
            best = *format;
            best_score = score;
        }
    }
    /* A path that does not exist may be a list of shards, which some formats accept. */
    if (status != DLB_OK)
        return err->sys_errno == ENOENT ? best : NULL;
    if (!best)
        (void)unknown(path, err);
    return best;
}
