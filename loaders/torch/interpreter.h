/* A running interpreter that serves batches, and the folder with its scripts.
 *
 * Floor 3. One thread; start it before threads exist. */
#ifndef DLB_LOADERS_TORCH_INTERPRETER_H
#define DLB_LOADERS_TORCH_INTERPRETER_H

#include "core/base/err.h"
#include "core/base/pulse.h"
#include "loaders/python.h"
#include "loaders/torch/link.h"

#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

/* All borrowed. */
struct dlb_interpreter_how {
    const struct dlb_python_opts *python;
    const json_t *settings; /* of the cell: an object of dotted keys */
    const char *mode;       /* "measure", "ceiling", or "probe": what the data set is like */
    const char *scratch;    /* folder; NULL: /tmp */
    uint32_t rank, world;
    uint64_t seed, n_samples;
    const json_t *trace; /* where its processes record their stages (dlbench_trace.py); or NULL */
    const atomic_bool *cancel; /* may be NULL */
    struct dlb_pulse *pulse;   /* signed while it makes progress; may be NULL */
    bool quiet; /* what the code prints goes nowhere; else to this process's stderr */
};

#define DLB_IMPORT_LIMIT_S 600

struct dlb_interpreter {
    struct dlb_link link;                  /* its `about` says what was found */
    char path[PATH_MAX], folder[PATH_MAX]; /* folder "": not made */
    struct {
        uint64_t looked_ns, moved_ns; /* the last look, and the last one that found a change */
        uint64_t start_ns;
        uint64_t sum; /* of what progress changes */
    } alive;
};

/* Starts the first interpreter that has torch, and waits until it is ready. Close it in any case.
 */
int dlb_interpreter_start(struct dlb_interpreter *self, const struct dlb_interpreter_how *how,
                          struct dlb_err *err);
void dlb_interpreter_close(struct dlb_interpreter *self);

/* Waits for the answer of this kind. `since_ns`: of the question. DLB_ERR_PYTHON_HANGS when it
 * takes longer than how->pulse allows. */
int dlb_interpreter_await(struct dlb_interpreter *self, const struct dlb_interpreter_how *how,
                          uint64_t kind, uint64_t since_ns, struct dlb_link_answer *answer,
                          struct dlb_err *err);

/* Whether a question of since_ns may stay unanswered still. It may for limit_s (0: no such limit),
 * and while there is progress, or how->pulse->stall_ns after the last one: time stamps that rise;
 * before it is ready, when it imports, CPU time that is used and bytes that are read, for
 * DLB_IMPORT_LIMIT_S at most. */
int dlb_interpreter_patience(struct dlb_interpreter *self, const struct dlb_interpreter_how *how,
                             uint64_t since_ns, double limit_s, struct dlb_err *err);

#endif
