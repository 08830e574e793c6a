/* Errors as values.
 *
 * Floor 0. Any thread: a struct dlb_err belongs to its caller. It has a fixed size and holds no
 * pointers, so that it can cross fork() in shared memory and be copied by assignment.
 *
 * The lowest layer that knows path and offset fills it in; callers hand it on unchanged and never
 * print it. Functions return an enum dlb_status as int (0 is success) and take `struct dlb_err *`
 * last, never NULL. Path and text hold names as they are; who prints them escapes them
 * (core/base/say.h). */
#ifndef DLB_CORE_BASE_ERR_H
#define DLB_CORE_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

enum dlb_status {
    DLB_OK = 0,
    DLB_END,         /* no more samples, batches or epochs: not an error */
    DLB_E_IO,        /* a system call failed, or a file is shorter than expected */
    DLB_E_FORMAT,    /* bytes that are not what their format says */
    DLB_E_CONFIG,    /* wrong usage or configuration: exit code 2 */
    DLB_E_NOMEM,     /* memory, descriptors or shared memory are short */
    DLB_E_DEVICE,    /* the accelerator, real or emulated */
    DLB_E_WORKER,    /* a worker died or hangs */
    DLB_E_MISSING,   /* a module that this build does not have */
    DLB_E_CANCELLED, /* interrupted by the user */
};

/* What exactly went wrong: DLB_ERR_NOT_FOUND, one for each line of errors.def. Each code belongs
 * to one status; the program itself branches on the status. */
enum dlb_code {
#define X(name, status, text) DLB_ERR_##name,
#include "core/base/errors.def"
#undef X
    DLB_N_CODES
};

#define DLB_NO_OFFSET UINT64_MAX

struct dlb_err {
    enum dlb_status status; /* of code */
    enum dlb_code code;
    int sys_errno;         /* errno, or 0 */
    int32_t lib_code;      /* the library's own code, or 0 */
    uint64_t offset_bytes; /* into path, or DLB_NO_OFFSET */
    char path[256];        /* a longer path keeps its end, after "..." */
    char what[512];        /* what went wrong, and what to do about it */
};

/* Fills *err and returns the status of `code`. `path` may be NULL. A message that does not fit is
 * cut with "...". */
int dlb_fail(struct dlb_err *err, enum dlb_code code, const char *path, uint64_t offset_bytes,
             const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* As dlb_fail, with the code that errno calls for (ENOENT: DLB_ERR_NOT_FOUND; DLB_ERR_IO where no
 * other fits) and what = "<doing>: <strerror>". */
int dlb_fail_errno(struct dlb_err *err, const char *path, uint64_t offset_bytes, const char *doing);

/* DLB_ERR_NOMEM: "out of memory for N bytes". `path` may be NULL. */
int dlb_fail_memory(struct dlb_err *err, const char *path, uint64_t n_bytes);

/* "path @ offset: what", without the parts that are absent. Returns `text`, always terminated. */
const char *dlb_err_text(const struct dlb_err *err, char *text, size_t n_text);

/* "E_NOT_FOUND", as in JSON and behind messages. Static. */
const char *dlb_code_name(enum dlb_code code);

/* What the code means and what to do about it; one sentence, no full stop. Static. */
const char *dlb_code_text(enum dlb_code code);

enum dlb_status dlb_code_status(enum dlb_code code);

/* The code of that name; DLB_N_CODES when there is none. */
enum dlb_code dlb_code_by_name(const char *name);

/* For a broken invariant of the program, never for bad input: prints where and aborts. */
#define DLB_BUG(why) dlb_bug(__FILE__, __LINE__, (why))
__attribute__((noreturn)) void dlb_bug(const char *file, int line,
                                       const char *why); /* C++ code includes this header, too */

/* The status in *err after a call that failed. It is never DLB_OK. */
static inline int dlb_failed(const struct dlb_err *err)
{
    if (err->status == DLB_OK)
        DLB_BUG("a failure without an error");
    return (int)err->status;
}

#ifdef __clang_analyzer__
/* clang-tidy sees one source at a time. This tells it what callers rely on. */
#define dlb_fail(err, ...) ((void)dlb_fail(err, __VA_ARGS__), dlb_failed(err))
#define dlb_fail_errno(err, ...) ((void)dlb_fail_errno(err, __VA_ARGS__), dlb_failed(err))
#define dlb_fail_memory(err, ...) ((void)dlb_fail_memory(err, __VA_ARGS__), dlb_failed(err))
#endif

#endif
