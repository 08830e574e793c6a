/* One cell: `dlbench run`. */
#include "core/base/mem.h"
#include "scenarios/judge/judge.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/preflight.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <string.h>

/* Whether two keys were set in the same file: then one author meant both. */
static bool said_together(const struct dlb_config *cfg, const char *a, const char *b)
{
    if (!dlb_config_has(cfg, a) || !dlb_config_has(cfg, b))
        return false;
    const char *at_a = dlb_config_origin(cfg, a), *at_b = dlb_config_origin(cfg, b);
    const char *end_a = strrchr(at_a, ':'), *end_b = strrchr(at_b, ':');
    return end_a && end_b && end_a - at_a == end_b - at_b &&
           memcmp(at_a, at_b, (size_t)(end_a - at_a)) == 0;
}

/* torch.utils.data.DataLoader raises on these, so a file that says both is refused. Where --set
 * changed one of the two (a loop over num_workers, say), the other has no meaning and is left
 * out, which the caller reports. */
static int check_zero_workers(const struct dlb_config *cfg, const struct dlb_spec *spec,
                              struct dlb_err *err)
{
    static const char *const keys[] = {"loader.prefetch_factor", "loader.persistent_workers"};
    if (spec->loader.num_workers > 0)
        return DLB_OK;
    for (size_t i = 0; i < 2; i++) {
        bool asks = i == 0 || spec->loader.persistent_workers;
        if (asks && said_together(cfg, keys[i], "loader.num_workers"))
            return dlb_fail(err, DLB_ERR_WORKERS_CONTRADICTION, NULL, DLB_NO_OFFSET,
                            "%s: %s has no meaning with loader.num_workers = 0 (DataLoader raises "
                            "an error): leave it out, or set num_workers",
                            dlb_config_origin(cfg, keys[i]), keys[i]);
    }
    return DLB_OK;
}

/* If it were silently ignored, users would think that it was applied. */
static int check_drop_caches(const struct dlb_config *cfg, const struct dlb_spec *spec,
                             struct dlb_err *err)
{
    if (!spec->run.drop_caches || spec->run.cache == DLB_RUN_COLD)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_DROP_CACHES_NOT_COLD, dlb_config_origin(cfg, "run.drop_caches"),
                    DLB_NO_OFFSET,
                    "run.drop_caches (--drop-caches) is done before cold runs only: set run.cache "
                    "= \"cold\", which is \"%s\"",
                    dlb_run_cache_names[spec->run.cache]);
}

static int plan_run(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    struct dlb_axes none = {0};
    memset(out, 0, sizeof(*out));
    int rc = dlb_spec_from_config(spec, in->cfg, err);
    if (!rc)
        rc = check_zero_workers(in->cfg, spec, err);
    if (!rc)
        rc = check_drop_caches(in->cfg, spec, err);
    if (!rc)
        rc = dlb_plan_cells(in, &none, out, err);
    out->host = in->host;
    if (!rc)
        rc = dlb_preflight(out, err);
    if (!rc) {
        dlb_plan_ceilings(out);
        dlb_plan_warm(in, false, out);
        out->n_blocks = (uint32_t)spec->run.repeats;
        out->seed = (uint64_t)spec->run.seed;
        out->reference = -1;
        dlb_plan_tasks(out);
    }
    free(spec);
    if (rc)
        dlb_plan_free(out);
    return rc;
}

const struct dlb_scenario dlb_sc_run = {
    .name = "run",
    .summary = "one configuration: how fast it is, what the device waits for, and why",
    .all_or_nothing = true,
    .repeats_disturbed = true,
    .plan = plan_run,
    .judge = dlb_judge_cells,
};
