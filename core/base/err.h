/* Errors as values.
 *
 * Floor 0. Any thread: a struct dlb_err belongs to its caller. It has a fixed size and holds no
 * pointers, so that it can cross fork() in shared memory and be copied by assignment.
 *
 * The lowest layer that knows path and offset fills it in; callers hand it on unchanged and never
 * print it. Functions return an enum dlb_status as int (0 is success) and take `struct dlb_err *`
 * last, never NULL. */
#ifndef DLB_CORE_BASE_ERR_H
#define DLB_CORE_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

enum dlb_status {
    DLB_OK = 0,
    DLB_END,         /* no more samples, batches or epochs: not an error */
    DLB_E_IO,        /* a system call failed, or a file is shorter than it said */
    DLB_E_FORMAT,    /* bytes that do not mean what they should */
    DLB_E_CONFIG,    /* wrong usage or configuration: exit code 2 */
    DLB_E_NOMEM,     /* memory, descriptors or shared memory are short */
    DLB_E_DEVICE,    /* the accelerator, real or emulated */
    DLB_E_WORKER,    /* a worker died or hangs */
    DLB_E_MISSING,   /* a module that this build does not have */
    DLB_E_CANCELLED, /* interrupted by the user */
};

#define DLB_NO_OFFSET UINT64_MAX

struct dlb_err {
    enum dlb_status status;
    int sys_errno;         /* errno, or 0 */
    int32_t lib_code;      /* the library's own code, or 0 */
    uint64_t offset_bytes; /* into path, or DLB_NO_OFFSET */
    char path[256];        /* a longer path keeps its end, after "..." */
    char what[160];        /* what went wrong, and what to do about it */
};

/* Fills *err and returns `status`. `path` may be NULL. A message that does not fit is cut with
 * "...". */
int dlb_fail(struct dlb_err *err, enum dlb_status status, const char *path, uint64_t offset_bytes,
             const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* As dlb_fail with DLB_E_IO (ENOMEM: DLB_E_NOMEM), from errno: what = "<doing>: <strerror>". */
int dlb_fail_errno(struct dlb_err *err, const char *path, uint64_t offset_bytes, const char *doing);

/* "path @ offset: what", leaving out what is absent. Returns `text`, always terminated. */
const char *dlb_err_text(const struct dlb_err *err, char *text, size_t n_text);

/* "DLB_E_IO" and so on. Static. */
const char *dlb_status_name(enum dlb_status status);

/* A broken invariant of the program itself, never of its input: says where and aborts. */
#define DLB_BUG(why) dlb_bug(__FILE__, __LINE__, (why))
__attribute__((noreturn)) void dlb_bug(const char *file, int line,
                                       const char *why); /* also read as C++ */

#endif
