#include "core/base/err.h"

#include "core/base/last.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the byte is not the first of its character in UTF-8. */
static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The end of a path says more than its beginning. */
static void copy_path(char *dst, size_t n_dst, const char *path)
{
    size_t len = path ? strlen(path) : 0;
    if (len < n_dst) {
        (void)snprintf(dst, n_dst, "%s", path ? path : "");
        return;
    }
    const char *end = path + len - (n_dst - 4);
    while (continues(*end))
        end++;
    (void)snprintf(dst, n_dst, "...%s", end);
}

static void end_in_dots(char *text, size_t n_text)
{
    size_t at = n_text - 4;
    while (at > 0 && continues(text[at]))
        at--;
    memcpy(text + at, "...", 4);
}

/* The functions themselves, not what clang-tidy reads in their place (err.h). */
#undef dlb_fail
#undef dlb_fail_errno
#undef dlb_fail_memory

int dlb_fail(struct dlb_err *err, enum dlb_code code, const char *path, uint64_t offset_bytes,
             const char *fmt, ...)
{
    va_list args;

    *err = (struct dlb_err){
        .status = dlb_code_status(code), .code = code, .offset_bytes = offset_bytes};
    copy_path(err->path, sizeof err->path, path);
    va_start(args, fmt);
    int len = vsnprintf(err->what, sizeof err->what, fmt, args);
    va_end(args);
    if (len >= (int)sizeof err->what)
        end_in_dots(err->what, sizeof err->what);
    return (int)err->status;
}

static enum dlb_code code_of_errno(int number)
{
    switch (number) {
    case ENOMEM:
        return DLB_ERR_NOMEM;
    case ENOENT:
        return DLB_ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return DLB_ERR_PERMISSION;
    case ENOSPC:
    case EDQUOT:
        return DLB_ERR_NO_SPACE;
    case EMFILE:
    case ENFILE:
        return DLB_ERR_TOO_MANY_FILES;
    case ENOTDIR:
        return DLB_ERR_NOT_A_FOLDER;
    case EISDIR:
        return DLB_ERR_IS_A_FOLDER;
    default:
        return DLB_ERR_IO;
    }
}

int dlb_fail_errno(struct dlb_err *err, const char *path, uint64_t offset_bytes, const char *doing)
{
    int number = errno;
    char text[96];

    (void)dlb_fail(err, code_of_errno(number), path, offset_bytes, "%s: %s", doing,
                   strerror_r(number, text, sizeof text));
    err->sys_errno = number;
    return (int)err->status;
}

int dlb_fail_memory(struct dlb_err *err, const char *path, uint64_t n_bytes)
{
    (void)dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory for %" PRIu64 " bytes",
                   n_bytes);
    err->sys_errno = ENOMEM;
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

static const struct {
    const char *name, *text;
    enum dlb_status status;
} codes[] = {
#define X(name, status, text) {"E_" #name, text, status},
#include "core/base/errors.def"
#undef X
};

const char *dlb_code_name(enum dlb_code code)
{
    return code < DLB_N_CODES ? codes[code].name : "E_?";
}

const char *dlb_code_text(enum dlb_code code)
{
    return code < DLB_N_CODES ? codes[code].text : "";
}

enum dlb_status dlb_code_status(enum dlb_code code)
{
    return code < DLB_N_CODES ? codes[code].status : DLB_E_IO;
}

enum dlb_code dlb_code_by_name(const char *name)
{
    for (int i = 0; i < DLB_N_CODES; i++)
        if (strcmp(codes[i].name, name) == 0)
            return (enum dlb_code)i;
    return DLB_N_CODES;
}

void dlb_bug(const char *file, int line, const char *why)
{
    char text[512];

    (void)snprintf(text, sizeof text, "dlbench: bug at %s:%d: %s\n", file, line, why);
    dlb_last_words(text);
    abort();
}
