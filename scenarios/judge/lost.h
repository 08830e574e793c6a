/* What dataset.on_error = "skip" left out of a cell's repetitions.
 *
 * Floor 4, private to scenarios/judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_LOST_H
#define DLB_SCENARIOS_JUDGE_LOST_H

#include "scenarios/cell/cell_result.h"

/* Of all repetitions together: one that skips nothing may stand for those that do. */
struct dlb_skipped {
    struct dlb_lost lost;
    uint64_t n_samples, n_cut_shards; /* DLB_NOT_MEASURED: no repetition counted them */
    uint64_t
        n_uncounted_shards; /* those of repetitions that do not know how many samples it were */
    /* The repetition whose skipped samples are named: the one that is shown if it skipped any or no
     * other did, else the first that did. */
    const struct dlb_cell_result *named;
};
struct dlb_skipped dlb_reps_skipped(const struct dlb_reps *reps,
                                    const struct dlb_cell_result *shown);

#endif
