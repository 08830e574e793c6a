/* How long the tasks of a run took, and how long the rest will take.
 *
 * Floor 4, private to scenarios/run. Control thread. */
#ifndef DLB_SCENARIOS_RUN_TIMES_H
#define DLB_SCENARIOS_RUN_TIMES_H

#include "scenarios/plan/plan.h"
#include "scenarios/run/task.h"

#include <stdbool.h>
#include <stdint.h>

/* What the last run of each took, in seconds; NaN: has not run. */
struct dlb_run_times {
    double *cell_s, *ceiling_s, *warm_s; /* owned */
    uint32_t n_cells, n_ceilings;        /* that these have room for */
    double baseline_s, in_c_s;
};

/* Has room for no cell and no ceiling yet. */
void dlb_run_times_open(struct dlb_run_times *times, const struct dlb_plan *plan);
void dlb_run_times_close(struct dlb_run_times *times);

/* Makes room for each cell and ceiling of the plan. */
void dlb_run_times_fit(struct dlb_run_times *times, const struct dlb_plan *plan);

/* Where the task's time is kept; borrowed, until the next fit. */
double *dlb_run_time_of(struct dlb_run_times *times, const struct dlb_task *task);

/* The task that runs. */
struct dlb_run_current {
    const struct dlb_task *task;
    bool ended;
    double gone_s;                                        /* since it began */
    uint64_t n_batches;                                   /* of it, so far */
    uint64_t n_samples;                                   /* of the data set; 0: not known */
    bool (*runs)(void *ctx, const struct dlb_task *task); /* false: it will not be run */
    void *ctx;
};

/* Until the plan's end, in seconds: each task takes as long as its last run, or as the mean of its
 * kind. NaN if some task has neither. */
double dlb_run_times_left_s(struct dlb_run_times *times, const struct dlb_plan *plan,
                            const struct dlb_run_current *now);

#endif
