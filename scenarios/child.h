/* One process for one repetition: started, watched, and never waited for without end.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_CHILD_H
#define DLB_SCENARIOS_CHILD_H

#include "bench/base/err.h"
#include "scenarios/cell.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

struct dlb_child {
    const char *exe; /* called as: exe cell --spec F --result F --mode M --heartbeat-fd N --memo F
                      */
    const json_t *config; /* flat; written to the spec file */
    enum dlb_cell_mode mode;
    const char *scratch; /* folder for spec, result, what the child prints, and its memo */
    uint64_t stall_ns;   /* that long without a batch: killed */
    const atomic_bool *
        cancel; /* set: the child is interrupted, and killed when that does not help; may be NULL */
    void (*tick)(void *ctx, uint64_t n_batches); /* several times a second; may be NULL */
    void *ctx;
};

/* *doc: the child's document (cell.h), or one with status "failed" that says how it died; new
 * reference. An error is the parent's own (no process, no space for the spec). */
int dlb_child_run(const struct dlb_child *how, json_t **doc, struct dlb_err *err);

#endif
