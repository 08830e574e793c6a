/* A grid of cells over one data set: `dlbench sweep`. */
#include "core/base/mem.h"
#include "scenarios/judge/judge.h"
#include "scenarios/plan/in_c.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/preflight.h"
#include "scenarios/spec/spec.h"
#include "scenarios/sweep/race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first cell that runs: with the fewest workers it depends most on the host's speed. */
static int64_t choose_reference(const struct dlb_plan *plan)
{
    int64_t first = -1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (!plan->cells[i].skipped && n++ == 0)
            first = i;
    return n > 1 ? first : -1;
}

static int check_any(const struct dlb_plan *plan, struct dlb_err *err)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (!plan->cells[i].skipped)
            return DLB_OK;
    const struct dlb_plan_cell *first = plan->n_cells ? &plan->cells[0] : NULL;
    bool coded = first && first->code < DLB_N_CODES;
    return dlb_fail(err, DLB_ERR_SWEEP_ALL_SKIPPED, NULL, DLB_NO_OFFSET,
                    "no cell of the sweep can run: %s%s%s%s", first ? first->reason : "it has none",
                    coded ? " (" : "", coded ? dlb_code_name(first->code) : "", coded ? ")" : "");
}

static bool begins(const char *key, const char *section)
{
    return strncmp(key, section, strlen(section)) == 0;
}

/* Options of the whole plan, and of the search that `dlbench storage` makes: cells have no values
 * of their own. */
static int check_axes(const struct dlb_config *cfg, struct dlb_err *err)
{
    const char *key;
    json_t *values;
    json_object_foreach((json_t *)dlb_config_axes(cfg), key, values) {
        char full[DLB_AXIS_KEY_CAP + 8];
        bool repeats = strcmp(key, "run.repeats") == 0;
        if (!repeats && !begins(key, "sweep.") && !begins(key, "storage."))
            continue;
        (void)snprintf(full, sizeof(full), "sweep.%s", key);
        return dlb_fail(err, repeats ? DLB_ERR_SWEEP_OF_REPEATS : DLB_ERR_SWEEP_OF_ITSELF,
                        dlb_config_origin(cfg, full), DLB_NO_OFFSET,
                        "%s: it holds for all cells, so it cannot be swept: set %s instead", full,
                        key);
    }
    return DLB_OK;
}

/* Whether PyTorch's own cells follow the race, and why not. */
static int plan_torch(const struct dlb_plan_input *in, const struct dlb_spec *spec,
                      struct dlb_plan *plan, struct dlb_err *err)
{
    plan->torch = in->torch;
    if (!plan->torch.there || dlb_sweep_can_race(plan, &spec->sweep))
        return DLB_OK;
    plan->torch = (struct dlb_plan_torch){
        .code = DLB_N_CODES, .why = "it is measured after a race, and these cells have none"};
    if (spec->sweep.confirm != DLB_CONFIRM_TORCH)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_SWEEP_CONFIRM, NULL, DLB_NO_OFFSET,
                    "sweep.confirm = \"torch\" measures PyTorch after a race, and there is none "
                    "with sweep.exhaustive, with a single cell, or among cells of other work");
}

static void add_tasks(struct dlb_plan *plan, const struct dlb_spec *spec, uint32_t n_cpus)
{
    if (dlb_sweep_can_race(plan, &spec->sweep)) {
        dlb_plan_check_in_c(plan);
        dlb_sweep_race_begin(plan, &spec->sweep, n_cpus);
        return;
    }
    plan->n_blocks = (uint32_t)spec->run.repeats;
    dlb_plan_tasks(plan);
}

static int next_sweep(struct dlb_plan *plan, const struct dlb_results *results, struct dlb_err *err)
{
    (void)err;
    dlb_sweep_race_next(plan, results);
    return DLB_OK;
}

static int plan_sweep(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    struct dlb_axes axes = {0};
    memset(out, 0, sizeof(*out));
    if (json_object_size(dlb_config_axes(in->cfg)) > 0)
        dlb_axes_from_json(&axes, dlb_config_axes(in->cfg));
    else
        dlb_plan_default_axes(in->n_cpus, &axes);
    int rc = dlb_spec_from_config(spec, in->cfg, err);
    if (!rc)
        rc = check_axes(in->cfg, err);
    if (!rc)
        rc = dlb_plan_cells(in, &axes, out, err);
    out->host = in->host;
    if (!rc)
        rc = dlb_preflight(out, err);
    if (!rc)
        rc = check_any(out, err);
    if (!rc)
        rc = plan_torch(in, spec, out, err);
    if (!rc) {
        dlb_plan_ceilings(out);
        dlb_plan_warm(in, true, out);
        out->seed = (uint64_t)spec->run.seed;
        out->reference = choose_reference(out);
        add_tasks(out, spec, in->n_cpus);
    }
    dlb_axes_free(&axes);
    free(spec);
    if (rc)
        dlb_plan_free(out);
    return rc;
}

const struct dlb_scenario dlb_sc_sweep = {
    .name = "sweep",
    .summary =
        "every combination of the swept settings: which is best, and the smallest that is as good",
    .sweeps = true,
    .repeats_disturbed = true,
    .plan = plan_sweep,
    .next = next_sweep,
    .judge = dlb_judge_cells,
};
