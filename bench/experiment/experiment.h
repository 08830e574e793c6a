/* The one driver of run, sweep, storage and gap: from arguments to a result's folder and an exit
 * code. What differs between them is in their scenario's table (scenarios/scenario.h).
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_EXPERIMENT_H
#define DLB_BENCH_EXPERIMENT_EXPERIMENT_H

#include "bench/cli/verb.h"
#include "scenarios/scenario.h"

/* Returns enum dlb_exit; prints result, progress and errors. */
int dlb_experiment_run(const struct dlb_args *args, const struct dlb_scenario *scenario);

#endif
