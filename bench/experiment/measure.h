/* What `run`, `sweep` and `storage` share: from arguments to a result's folder and an exit code.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_MEASURE_H
#define DLB_BENCH_EXPERIMENT_MEASURE_H

#include "bench/cli/verb.h"
#include "scenarios/scenario.h"

/* Returns enum dlb_exit; prints result, progress and errors. */
int dlb_measure(const struct dlb_args *args, const struct dlb_scenario *scenario);

#endif
