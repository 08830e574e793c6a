/* Two configurations in turns, block by block: `dlbench compare --run A.toml B.toml`. */
#include "core/base/mem.h"
#include "scenarios/judge/judge.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/preflight.h"

#include <stdlib.h>
#include <string.h>

/* Appends the one cell of a configuration. */
static int add_cell(const struct dlb_plan_input *in, const struct dlb_config *cfg,
                    struct dlb_plan *out, struct dlb_err *err)
{
    struct dlb_plan_input of = *in;
    struct dlb_axes none = {0};
    struct dlb_plan one;
    memset(&one, 0, sizeof(one));
    of.cfg = cfg;
    int rc = dlb_plan_cells(&of, &none, &one, err);
    if (!rc) {
        out->cells = dlb_mem_grow(out->cells, (size_t)out->n_cells + 1, sizeof(*out->cells));
        out->cells[out->n_cells++] = one.cells[0];
        out->n_grid = out->n_cells;
        out->step_assumed = out->step_assumed || one.step_assumed;
        out->io_depth_said = out->io_depth_said || one.io_depth_said;
        one.n_cells = 0; /* its cell has moved */
    }
    dlb_plan_free(&one);
    return rc;
}

static uint32_t more_repeats(const struct dlb_plan *plan)
{
    int64_t a = plan->cells[0].spec->run.repeats, b = plan->cells[1].spec->run.repeats;
    return (uint32_t)(a > b ? a : b);
}

static int plan_compare(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    memset(out, 0, sizeof(*out));
    int rc = add_cell(in, in->cfg, out, err);
    rc = rc ? rc : add_cell(in, in->cfg_b, out, err);
    out->host = in->host;
    rc = rc ? rc : dlb_preflight(out, err);
    if (rc) {
        dlb_plan_free(out);
        return rc;
    }
    dlb_plan_ceilings(out);
    dlb_plan_warm(in, true, out);
    out->n_blocks = more_repeats(out);
    out->seed = (uint64_t)out->cells[0].spec->run.seed;
    out->reference = -1;
    dlb_plan_tasks(out);
    return DLB_OK;
}

const struct dlb_scenario dlb_sc_compare = {
    .name = "compare",
    .summary = "two configurations in turns: whether one is faster, and by how much",
    .repeats_disturbed = true,
    .all_or_nothing = true,
    .plan = plan_compare,
    .judge = dlb_judge_cells,
};
