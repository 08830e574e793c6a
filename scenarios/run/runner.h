/* The runner: executes a plan, one process per task.
 *
 * Floor 4. Control thread. It prints nothing: it reports events to a callback. A task that fails
 * costs its cell, never the sweep; a cell that failed once is not run again. */
#ifndef DLB_SCENARIOS_RUN_RUNNER_H
#define DLB_SCENARIOS_RUN_RUNNER_H

#include "core/base/err.h"
#include "core/base/live.h"
#include "scenarios/run/child.h"
#include "scenarios/run/kept.h"
#include "scenarios/scenario.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_runner_what {
    DLB_RUNNER_START, /* a task begins */
    DLB_RUNNER_TICK,  /* it goes on; several times a second */
    DLB_RUNNER_DONE,  /* it ended: result */
    DLB_RUNNER_BLOCK, /* every task of a block ended: results so far may be saved */
};

struct dlb_runner_event {
    enum dlb_runner_what what;
    const struct dlb_task *task;
    uint32_t n_done, n_tasks;    /* tasks that ended, and all that will run */
    uint64_t n_batches;          /* of this task, so far */
    const struct dlb_live *live; /* of its process; TICK only; borrowed until the next event */
    double eta_s;  /* of the whole plan; NaN while nothing is known, and for plans that
                      grow */
    double gone_s; /* since the plan began, in all processes that measured it */
    const struct dlb_cell_result *result; /* DONE only; borrowed until the next event */
};

struct dlb_runner {
    const char *exe;     /* NULL: this program */
    const char *scratch; /* folder that exists; left empty */
    uint64_t n_samples;  /* of the data set, for the first ETA; 0: not known */
    uint64_t stall_ns;   /* 0: five minutes, or ten steps or batches if those are longer, plus
                            loader.worker_init_ms and loader.timeout_s */
    const struct dlb_spec *looked_at; /* the data set of this spec was opened for the plan ... */
    uint64_t data_id;                 /* ... and had this dlb_shape.id; 0: not known. Other data
                                         sets have the id that the first task found there */
    const atomic_bool *cancel;        /* may be NULL */
    void (*event)(void *ctx, const struct dlb_runner_event *event); /* may be NULL */
    void *ctx;
    /* Runs the cells and ceilings of this program instead of dlb_child_run, on all ranks; NULL:
     * there are none. `team`: its own. */
    int (*run_cell)(void *team, const struct dlb_child *how, struct dlb_cell_result *result,
                    struct dlb_err *err);
    void *team;
    struct dlb_kept *kept; /* the journal that each repetition is written to, and what is taken
                              over from it; NULL: none */
    const struct dlb_scenario
        *scenario; /* whose next() adds tasks; NULL for a plan that does not grow */
    bool traces;   /* each repetition of a cell leaves its timeline in scratch (trace_path.h) */
};

/* Fills results (dlb_results_init). An interrupt is no error: results->interrupted. An error is the
 * runner's own, or the journal's, which cannot be written or holds another run. There are no events
 * of what is taken over. */
int dlb_runner_execute(const struct dlb_runner *runner, struct dlb_plan *plan,
                       struct dlb_results *results, struct dlb_err *err);

/* Seconds that the plan takes if the accelerator never waits: the sum of its steps. Warm passes,
 * starts of processes, and what cannot be predicted are not included. */
double dlb_runner_least_s(const struct dlb_plan *plan, uint64_t n_samples);

#endif
