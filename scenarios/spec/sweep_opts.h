/* How a sweep is held: the `sweep` section beside its lists.
 *
 * Floor 4. Plain values; any thread. */
#ifndef DLB_SCENARIOS_SPEC_SWEEP_OPTS_H
#define DLB_SCENARIOS_SPEC_SWEEP_OPTS_H

#include "core/base/opt.h"

#include <stdbool.h>

/* sweep.confirm: whether a race among PyTorch's own cells follows. */
enum dlb_sweep_confirm {
    DLB_CONFIRM_AUTO, /* where an interpreter can load the data with torch */
    DLB_CONFIRM_TORCH,
    DLB_CONFIRM_NONE,
};

struct dlb_sweep_opts {
    double max_minutes; /* 0: none */
    double tolerance;   /* what the recommended cell may lose to the best; above 0, below 1 */
    bool exhaustive;    /* run.repeats repetitions of each cell instead of a race */
    int confirm;        /* enum dlb_sweep_confirm */
};
extern const struct dlb_opt_group dlb_sweep_group;

#endif
