/* Which rungs are run, and in what order.
 *
 * Floor 4. Pure. The runner executes the plan, one process for each repetition of a rung. */
#ifndef DLB_SCENARIOS_GAP_PLAN_H
#define DLB_SCENARIOS_GAP_PLAN_H

#include "core/base/err.h"
#include "core/base/opt.h"
#include "scenarios/gap/rungs/params.h"
#include "scenarios/gap/torch/python.h"
#include "scenarios/scenario.h"

#include <jansson.h>
#include <stdint.h>

/* The rest of the `gap` section: how the ladder is measured. */
struct dlb_gap_opts {
    int64_t repeats;
    char python[DLB_OPT_STRING_CAP]; /* "": that of PyTorch's cells */
};

/* The `python` section, as far as the ladder has it. */
struct dlb_gap_python_opts {
    char interpreter[DLB_OPT_STRING_CAP]; /* "": no preference */
};
extern const struct dlb_opt_group dlb_gap_ladder_group, dlb_gap_python_group;

struct dlb_gap_plan_input {
    const struct dlb_gap_params *params; /* as they fit into memory */
    int64_t repeats;
    const json_t *flat; /* the same, as a rung's process gets it */
    const char *exe;    /* this program, which PyTorch's rungs ask for the array */
    const struct dlb_gap_python *python;
    const struct dlb_device *device; /* of the C rungs */
};

/* A named cell for each rung, in the ladder's order. PyTorch's are skipped, with the reason, when
 * no interpreter has it. `in->python` is borrowed until the plan is freed. */
void dlb_gap_plan(const struct dlb_gap_plan_input *in, struct dlb_plan *out);

#endif
