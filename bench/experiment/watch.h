/* Reports the execution of a plan on stderr: the runner's events become progress, rates of the
 * running process, and notes.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_WATCH_H
#define DLB_BENCH_EXPERIMENT_WATCH_H

#include "bench/cli/progress.h"
#include "bench/live/rates.h"
#include "scenarios/run/runner.h"
#include "scenarios/scenario.h"

struct dlb_watch {
    struct dlb_progress progress; /* begun */
    struct dlb_rates_seen seen;   /* of the current task's process */
    const struct dlb_plan *plan;
    bool grows;              /* the plan adds tasks while it runs, so their number is not known */
    void (*save)(void *ctx); /* after each block; may be NULL */
    void *ctx;
};

/* The event callback of struct dlb_runner. `ctx` is a struct dlb_watch. */
void dlb_watch_event(void *ctx, const struct dlb_runner_event *event);

/* The swept settings of a cell: "num_workers=2 pin_memory=true". Returns `text`. */
const char *dlb_watch_cell_text(const struct dlb_plan *plan, uint32_t cell, char *text,
                                size_t n_text);

/* "cell 3", or the cell's own name. Returns `text`. */
const char *dlb_watch_cell_name(const struct dlb_plan *plan, uint32_t cell, char *text,
                                size_t n_text);

/* ", at most 6 min left" of a race whose time is limited, else "". Returns `text`. */
const char *dlb_watch_left_text(const struct dlb_plan *plan, double gone_s, char *text,
                                size_t n_text);

#endif
