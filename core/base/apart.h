/* Work in a child process that tells through a pipe what came of it: for libraries that trust bytes
 * which nobody has checked, and for storage that may not answer. A crash or a hang there costs an
 * error, and nothing that was opened stays in this process.
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
    bool late, cancelled;
};

struct dlb_apart {
    const char *path;  /* for messages */
    const char *who;   /* "libhdf5": who crashes */
    const char *doing; /* NULL: "opening it" */
    /* In the child. Signals that kill have their default there, but SIGBUS, which maps catch. */
    int (*work)(void *ctx, struct dlb_err *err);
    /* In both, after a work that went well: calls dlb_pass for each thing that is told, in the same
     * order. False: it did not pass, or makes no sense. */
    bool (*pass)(void *ctx, struct dlb_pipe *pipe);
    void *ctx;
    uint32_t patience_s;        /* longest silence; 0: for ever */
    const atomic_bool *cancel;  /* set by a signal handler: the child is killed; may be NULL */
    void (*waiting)(void *ctx); /* every second of silence; may be NULL */
};

/* The work's own error, or DLB_E_FORMAT with path and signal where it crashed. */
int dlb_apart(const struct dlb_apart *how, struct dlb_err *err);

/* From the child's memory to the same place here. */
bool dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes);
/* n elements, malloced here for as many; none: *array stays. */
bool dlb_pass_array(struct dlb_pipe *pipe, void **array, uint64_t n, size_t each_bytes);

#endif
