/* One process for one repetition: starts it, watches it, and kills it if it hangs.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_RUN_CHILD_H
#define DLB_SCENARIOS_RUN_CHILD_H

#include "core/base/err.h"
#include "core/base/pulse.h"
#include "loaders/meet.h"
#include "scenarios/cell/cell_result.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

/* What a child leaves with that is short of memory, without a result: errno's number. */
#define DLB_CHILD_EXIT_NOMEM 12
/* Likewise, that measured and had no space for its result. */
#define DLB_CHILD_EXIT_NO_SPACE 28
#define DLB_CHILD_MAX_WORDS 8 /* of lead and of tail */

/* Called with the words LEAD --spec F --result F TAIL --heartbeat-fd N. dlbench_child.py is what
 * scripts of Python do with them. */
struct dlb_child {
    const char *exe;         /* path of the program; PATH is not searched */
    const char *program;     /* the same, for messages, where it is not dlbench; else NULL */
    const char *const *lead; /* its own name first, as in {"dlbench", "cell", NULL} */
    const char *const *tail; /* as in {"--mode", "measure", NULL}; may be NULL */
    const json_t *config;    /* written to the spec file */
    const char *data_path;   /* of its data set, for messages; NULL: it has none */
    const char *scratch;     /* folder for spec, result and what the child prints */
    int meet_fd;             /* handed on as --meet-fd N (loaders/meet.h); 0: it meets none */
    struct dlb_meet *meet;   /* its memory: a child that waits for other ranks does not hang */
    uint64_t stall_ns; /* killed after this time (and a little) without a batch or another sign of
                          life */
    const atomic_bool *cancel; /* if set, the child is interrupted, and later killed; may be NULL */
    void (*tick)(void *ctx, const struct dlb_pulse *pulse); /* several times a second, with what the
                                                               child shares; may be NULL */
    void *ctx;
};

/* Fills the result that the child wrote, or one with status "failed" and how it died. With
 * `keeps`, result->document has the whole document. The caller frees the result after success.
 * An error is the parent's own (no process), or that the scratch folder's file system is full: this
 * says nothing of what was to be measured. */
int dlb_child_run(const struct dlb_child *how, bool keeps, struct dlb_cell_result *result,
                  struct dlb_err *err);

#endif
