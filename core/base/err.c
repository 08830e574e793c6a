#include "core/base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_path(char *dst, size_t n_dst, const char *path)
{
    size_t len = path ? strlen(path) : 0;
    if (len < n_dst)
        (void)snprintf(dst, n_dst, "%s", path ? path : "");
    else
        (void)snprintf(dst, n_dst, "...%s", path + len - (n_dst - 4));
}

int dlb_fail(struct dlb_err *err, enum dlb_status status, const char *path, uint64_t offset_bytes,
             const char *fmt, ...)
{
    va_list args;

    *err = (struct dlb_err){.status = status, .offset_bytes = offset_bytes};
    copy_path(err->path, sizeof err->path, path);
    va_start(args, fmt);
    int len = vsnprintf(err->what, sizeof err->what, fmt, args);
    va_end(args);
    if (len >= (int)sizeof err->what)
        memcpy(err->what + sizeof err->what - 4, "...", 4);
    return (int)status;
}

int dlb_fail_errno(struct dlb_err *err, const char *path, uint64_t offset_bytes, const char *doing)
{
    int code = errno;
    char text[96];

    (void)dlb_fail(err, code == ENOMEM ? DLB_E_NOMEM : DLB_E_IO, path, offset_bytes, "%s: %s",
                   doing, strerror_r(code, text, sizeof text));
    err->sys_errno = code;
    return (int)err->status;
}

const char *dlb_err_text(const struct dlb_err *err, char *text, size_t n_text)
{
    char offset[32] = "";

    if (err->offset_bytes != DLB_NO_OFFSET)
        (void)snprintf(offset, sizeof offset, " @ %" PRIu64, err->offset_bytes);
    if (err->path[0])
        (void)snprintf(text, n_text, "%s%s: %s", err->path, offset, err->what);
    else
        (void)snprintf(text, n_text, "%s", err->what);
    return text;
}

const char *dlb_status_name(enum dlb_status status)
{
    static const char *const names[] = {
        "DLB_OK",      "DLB_END",      "DLB_E_IO",     "DLB_E_FORMAT",  "DLB_E_CONFIG",
        "DLB_E_NOMEM", "DLB_E_DEVICE", "DLB_E_WORKER", "DLB_E_MISSING", "DLB_E_CANCELLED"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "DLB_E_?";
}

void dlb_bug(const char *file, int line, const char *why)
{
    (void)fprintf(stderr, "dlbench: bug at %s:%d: %s\n", file, line, why);
    abort();
}
