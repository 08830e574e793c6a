/* What went wrong in an experiment, said on stderr, and the exit code.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_CONCLUDE_H
#define DLB_BENCH_EXPERIMENT_CONCLUDE_H

#include "bench/cli/args.h"
#include "bench/experiment/result.h"
#include "scenarios/scenario.h"

/* All borrowed. */
struct dlb_conclude {
    const struct dlb_args *args;
    const struct dlb_scenario *scenario;
    const struct dlb_plan *plan;
    const struct dlb_results *results;
    const struct dlb_result_folder *folder;
};

/* Whether a lost process fails the experiment, even if every cell has its figures. */
bool dlb_experiment_fails(const struct dlb_scenario *scenario, const struct dlb_results *results);

/* Says which cells failed, that it was interrupted, or that nothing was measured. Returns the exit
 * code. */
int dlb_conclude(const struct dlb_conclude *how, const struct dlb_judgement *j);

/* The result is there, but not all that was promised: that is not a success. `told`: what is
 * already on stderr, or NULL. Returns the exit code. */
int dlb_conclude_spared(const struct dlb_result_folder *folder, const struct dlb_err *told);

#endif
