#include "bench/experiment/exports.h"

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/mem.h"
#include "core/base/same.h"
#include "reports/junit.h"
#include "reports/traceml.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096

/* By what a file of each kind is known for an earlier export: how it begins, and what stands near
 * its beginning. */
static const struct export
{
    const char *flag, *begins, *has;
}
exports[] = {
    {"--junit", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n",
     "<testsuite name=\"dlbench "},
    {"--traceml", "{\n  \"schema_version\": ", "\"" DLB_TRACEML_SUMMARY "\""},
    {"--trace", "{\"displayTimeUnit\":", "\"program\":\"dlbench\""},
    {"--prometheus", "# HELP dlbench_result_timestamp_seconds ",
     "\n# TYPE dlbench_result_timestamp_seconds gauge\n"},
};

enum { N_EXPORTS = sizeof(exports) / sizeof(*exports) };

static void paths_of(const struct dlb_args *args, const char *path[N_EXPORTS])
{
    path[0] = args->junit;
    path[1] = args->traceml;
    path[2] = args->trace;
    path[3] = args->prometheus;
}

/* Empty, or what the same flag wrote earlier. Whatever else is there may be the user's. */
static bool is_earlier(const struct export *as, const char *path)
{
    char head[HEAD_BYTES + 1];
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(head, 1, HEAD_BYTES, file);
    bool is_read = !ferror(file);
    (void)fclose(file);
    head[n] = '\0';
    bool ours = strncmp(head, as->begins, strlen(as->begins)) == 0 && strstr(head, as->has);
    return is_read && (n == 0 || ours);
}

/* Of the file, owned; "." where the path has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = dlb_mem_text(slash ? path : ".");
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0'; /* "/" itself stays */
    return folder;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the name is short enough, also with what dlb_write_file_atomic adds to it. */
static bool name_fits(const char *path, const char *folder)
{
    long most = pathconf(folder, _PC_NAME_MAX);
    int n_added = snprintf(NULL, 0, ".%ld.tmp", (long)getpid());
    return (most < 0 || strlen(name_of(path)) + (size_t)n_added <= (size_t)most) &&
           strlen(path) + (size_t)n_added < PATH_MAX;
}

/* A new file in a folder that is there, or an earlier export, which is replaced. A link or a device
 * such as /dev/stdout would be replaced, too, and nobody wants that. */
static int check(const struct export *as, const char *path, struct dlb_err *err)
{
    struct stat st;
    char *folder = folder_of(path);
    bool is_there = lstat(path, &st) == 0;
    bool fits = is_there ? S_ISREG(st.st_mode) : errno == ENOENT && path[0];
    bool can = fits && access(folder, W_OK | X_OK) == 0 && name_fits(path, folder);
    free(folder);
    if (!can)
        return dlb_fail(err, DLB_ERR_EXPORT_PATH, path, DLB_NO_OFFSET,
                        "%s: this file cannot be written: name one in a folder that exists",
                        as->flag);
    if (is_there && !is_earlier(as, path))
        return dlb_fail(err, DLB_ERR_EXPORT_PATH, path, DLB_NO_OFFSET,
                        "%s: this file is there, and no earlier one of %s: name another file, or "
                        "remove it",
                        as->flag, as->flag);
    return DLB_OK;
}

/* One file, which need not be there, by one or two names of its folder. */
static bool are_same(const char *a, const char *b)
{
    char *folder_a = folder_of(a), *folder_b = folder_of(b);
    bool same = strcmp(name_of(a), name_of(b)) == 0 && dlb_same_file(folder_a, folder_b);
    free(folder_a);
    free(folder_b);
    return same;
}

int dlb_exports_check(const struct dlb_args *args, struct dlb_err *err)
{
    const char *path[N_EXPORTS];
    int rc = DLB_OK;
    paths_of(args, path);
    for (int i = 0; rc == DLB_OK && i < N_EXPORTS; i++) {
        if (path[i])
            rc = check(&exports[i], path[i], err);
        for (int j = 0; rc == DLB_OK && j < i; j++)
            if (path[i] && path[j] && are_same(path[i], path[j]))
                rc = dlb_fail(err, DLB_ERR_EXPORT_PATH, path[i], DLB_NO_OFFSET,
                              "%s and %s name the same file: give each its own", exports[j].flag,
                              exports[i].flag);
    }
    return rc;
}

int dlb_exports_may(const char *flag, const char *path, struct dlb_err *err)
{
    for (int i = 0; i < N_EXPORTS; i++)
        if (strcmp(exports[i].flag, flag) == 0)
            return check(&exports[i], path, err);
    DLB_BUG("no export has this flag");
}

/* Looks again: a measurement takes minutes. */
static int write_one(const char *flag, const char *path, struct dlb_text *text)
{
    struct dlb_err err;
    int rc = dlb_exports_may(flag, path, &err);
    rc = rc ? rc : dlb_write_file_atomic(path, text->data, text->len_bytes, &err);
    dlb_text_free(text);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

int dlb_exports_write(const struct dlb_args *args, const json_t *doc, int code)
{
    struct dlb_text text = {0};
    int junit = DLB_EXIT_OK, traceml = DLB_EXIT_OK;
    if (args->junit) {
        dlb_junit_render(doc, args->strict, code, &text);
        junit = write_one("--junit", args->junit, &text);
    }
    if (args->traceml) {
        dlb_traceml_render(doc, &text);
        traceml = write_one("--traceml", args->traceml, &text);
    }
    return junit ? junit : traceml;
}
