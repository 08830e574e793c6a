/* Runs work in a child process, which sends its result through a pipe. For libraries that trust
 * unchecked bytes, and for storage that may not answer: a crash or a hang there becomes an
 * error, and nothing that the child opened stays open in this process.
 *
 * Floor 0. Control thread, with no other thread running. */
#ifndef DLB_CORE_BASE_APART_H
#define DLB_CORE_BASE_APART_H

#include "core/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_pipe {
    int fd;
    bool tells; /* the child's end */
    const struct dlb_apart *how;
    bool late, endless, cancelled;
    bool ended; /* the other end is closed */
};

struct dlb_apart {
    const char *path;  /* for messages */
    const char *who;   /* "libhdf5": what may crash */
    const char *doing; /* NULL: "opening it" */
    /* Runs in the child. Fatal signals have their default action there, except SIGBUS, which
     * guarded maps catch, and SIGHUP where it is ignored, as under nohup. */
    int (*work)(void *ctx, struct dlb_err *err);
    /* Runs in both processes after the work succeeded: calls dlb_pass for each part of the
     * result, in the same order. False: a part could not be passed, or makes no sense. The parent
     * has to check each part before it uses it: a hostile file may have taken the child over, and
     * then it tells anything (core/base/told.h). */
    bool (*pass)(void *ctx, struct dlb_pipe *pipe);
    void *ctx;
    uint32_t patience_s;        /* longest silence before the child is killed, also of one that has
                                   told its result and does not end; 0: no limit */
    uint64_t most_signs;        /* of life, while the work runs; one more is CHILD_HANGS */
    bool sandboxed;             /* the work only reads: see core/base/sandbox.h */
    const atomic_bool *cancel;  /* the child is killed when a signal handler sets it; may be NULL */
    void (*waiting)(void *ctx); /* called after every second of silence; may be NULL */
};

/* Returns the work's own error. DLB_E_FORMAT where the child crashed (CHILD_CRASHED, with the
 * signal, which is the lib_code), was silent too long (CHILD_HANGS), ended without a result, or
 * told one that makes no sense (CHILD_GAVE_UP); DLB_E_NOMEM where it ran out of memory. */
int dlb_apart(const struct dlb_apart *how, struct dlb_err *err);

/* A sign of life, for work that may rightly take longer than its patience: the silence begins anew.
 * Does nothing but in a child's work that has most_signs. */
void dlb_apart_sign(void);

/* Copies n_bytes from the child's memory to the same variable in the parent. */
bool dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes);
/* The same for n elements, into memory that the parent mallocs; with n == 0 *array is not
 * changed. */
bool dlb_pass_array(struct dlb_pipe *pipe, void **array, uint64_t n, size_t each_bytes);

#endif
