#include "bench/experiment/exports.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "reports/junit.h"
#include "reports/traceml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new file in a folder that is there, or a regular file, which is replaced. A link or a device
 * such as /dev/stdout would be replaced, too, and nobody wants that. */
static int check(const char *flag, const char *path, struct dlb_err *err)
{
    struct stat st;
    if (!path)
        return DLB_OK;
    char *folder = dlb_mem_text(path), *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0'; /* "/" itself stays */
    bool fits = lstat(path, &st) == 0 ? S_ISREG(st.st_mode) : errno == ENOENT && path[0];
    bool can = fits && access(slash ? folder : ".", W_OK | X_OK) == 0;
    free(folder);
    return can ? DLB_OK
               : dlb_fail(err, DLB_ERR_EXPORT_PATH, path, DLB_NO_OFFSET,
                          "%s: this file cannot be written: name one in a folder that exists",
                          flag);
}

int dlb_exports_check(const struct dlb_args *args, struct dlb_err *err)
{
    int rc = check("--junit", args->junit, err);
    rc = rc ? rc : check("--traceml", args->traceml, err);
    rc = rc ? rc : check("--trace", args->trace, err);
    return rc ? rc : check("--prometheus", args->prometheus, err);
}

static int write_one(const char *path, struct dlb_text *text)
{
    struct dlb_err err;
    int rc = dlb_write_file_atomic(path, text->data, text->len_bytes, &err);
    dlb_text_free(text);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

int dlb_exports_write(const struct dlb_args *args, const json_t *doc, int code)
{
    struct dlb_text text = {0};
    int junit = DLB_EXIT_OK, traceml = DLB_EXIT_OK;
    if (args->junit) {
        dlb_junit_render(doc, args->strict, code, &text);
        junit = write_one(args->junit, &text);
    }
    if (args->traceml) {
        dlb_traceml_render(doc, &text);
        traceml = write_one(args->traceml, &text);
    }
    return junit ? junit : traceml;
}
