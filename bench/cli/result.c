#include "bench/cli/result.h"

#include "bench/base/io.h"
#include "bench/cli/print.h"
#include "reports/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SCRATCH ".cells"
#define PIPE_COLUMNS 160 /* wide enough for the usual columns of a table */

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
    (void)snprintf(name, n_name, "%.*s%s%s-%s", stem < 100 ? stem : 100, base, stem > 0 ? "-" : "",
                   verb, when);
}

/* One that is there already is fine, even where no other could be made (a read-only mount, say). */
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
        return dlb_fail(err, DLB_E_CONFIG, "--results", DLB_NO_OFFSET,
                        len ? "path is too long" : "names no folder");
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
        return dlb_fail(err, DLB_E_IO, path, DLB_NO_OFFSET,
                        "is no folder: --results wants one that can be written");
    return DLB_OK;
}

static int join(char out[PATH_MAX], const char *folder, const char *name, struct dlb_err *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || n >= PATH_MAX)
        return dlb_fail(err, DLB_E_CONFIG, folder, DLB_NO_OFFSET, "path is too long");
    return DLB_OK;
}

int dlb_result_open(const struct dlb_args *args, const char *verb, struct dlb_result_folder *out,
                    struct dlb_err *err)
{
    memset(out, 0, sizeof(*out));
    choose_name(args, verb, out->name, sizeof(out->name));
    int rc = join(out->path, args->results_dir, out->name, err);
    if (!rc)
        rc = join(out->scratch, out->path, SCRATCH, err);
    struct stat st;
    if (!rc && stat(out->path, &st) == 0 && !args->overwrite)
        return dlb_fail(err, DLB_E_CONFIG, out->path, DLB_NO_OFFSET,
                        "there is a result of that name: give another --run-name, or --overwrite");
    if (!rc)
        rc = make_folders(args->results_dir, err);
    if (rc)
        return rc;
    out->made = mkdir(out->path, 0777) == 0;
    if (!out->made && (errno != EEXIST || !args->overwrite))
        return dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot make the result's folder");
    if (mkdir(out->scratch, 0777) && errno != EEXIST) {
        rc = dlb_fail_errno(err, out->path, DLB_NO_OFFSET, "cannot write to the result's folder");
        dlb_result_close(out);
    }
    return rc;
}

void dlb_result_clear(const struct dlb_result_folder *folder)
{
    char file[PATH_MAX];
    struct dlb_err ignored;
    for (size_t i = 0; dlb_reports[i]; i++)
        if (dlb_reports[i]->file && join(file, folder->path, dlb_reports[i]->file, &ignored) == 0)
            (void)unlink(file);
}

void dlb_result_close(const struct dlb_result_folder *folder)
{
    (void)rmdir(folder->scratch);
    if (folder->made)
        (void)rmdir(folder->path); /* stays when there is something in it */
}

int dlb_result_write_json(const struct dlb_result_folder *folder, const char *file,
                          const json_t *doc, struct dlb_err *err)
{
    char path[PATH_MAX];
    int rc = join(path, folder->path, file, err);
    char *text = rc ? NULL : json_dumps(doc, JSON_INDENT(2));
    if (!rc && !text)
        rc = dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET, "out of memory");
    if (!rc)
        rc = dlb_write_file_atomic(path, text, strlen(text), err);
    free(text);
    return rc;
}

static int write_report(const struct dlb_result_folder *folder, const struct dlb_report *report,
                        const json_t *doc, struct dlb_err *err)
{
    struct dlb_report_opts opts = {.folder = folder->path};
    struct dlb_text text = {0};
    char path[PATH_MAX];
    int rc = join(path, folder->path, report->file, err);
    if (!rc)
        rc = report->render(doc, &opts, &text, err);
    if (!rc)
        rc = dlb_write_file_atomic(path, text.data, text.len_bytes, err);
    dlb_text_free(&text);
    return rc;
}

int dlb_result_write(const struct dlb_result_folder *folder, const json_t *doc, struct dlb_err *err)
{
    for (size_t i = 0; dlb_reports[i]; i++) {
        if (!dlb_reports[i]->file)
            continue;
        int rc = write_report(folder, dlb_reports[i], doc, err);
        if (rc)
            return rc;
    }
    return DLB_OK;
}

static uint32_t stdout_columns(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return PIPE_COLUMNS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int dlb_result_print(const json_t *doc, const char *folder, bool json, struct dlb_err *err)
{
    const struct dlb_report *report = dlb_report_by_name(json ? "json" : "terminal");
    struct dlb_report_opts opts = {.n_columns = stdout_columns(), .folder = folder};
    struct dlb_text text = {0};
    int rc = report->render(doc, &opts, &text, err);
    if (!rc)
        dlb_print_out(text.data, text.len_bytes);
    dlb_text_free(&text);
    return rc;
}
