/* Which data are read beforehand, and how. */
#include "scenarios/plan/plan.h"

#include "scenarios/spec/flat.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the warm pass");
}

/* The cell's data, read as bytes with every CPU and trained on by nobody. */
static json_t *warm_overrides(uint32_t n_cpus)
{
    return json_pack("{ss, ss, ss, ss, sI, sI, sb, sb, sb, sb, ss, ss, ss, sf, sf, sf, sf, ss, ss, "
                     "sf, ss, sI, sI, "
                     "sI, sI, sb, sI, sI, ss, sb, sI, sb, sb}",
                     "dataset.codec", "raw", "dataset.on_error", "skip", "transform.where", "cpu",
                     "loader.kind", "auto", "loader.num_workers", (json_int_t)(n_cpus ? n_cpus : 1),
                     "loader.prefetch_factor", (json_int_t)2, "loader.shuffle", 0,
                     "loader.pin_memory", 0, "loader.persistent_workers", 0, "loader.drop_last", 0,
                     "loader.order", "any", "loader.transport", "pooled", "loader.io", "sync",
                     "loader.sample_sleep_us", 0.0, "loader.sample_spin_us", 0.0,
                     "loader.worker_init_ms", 0.0, "loader.worker_init_mb", 0.0, "loader.bind",
                     "none", "device.kind", "emulated", "device.step_ms", 0.0, "device.step_dist",
                     "constant", "device.prefetch", (json_int_t)1, "run.epochs", (json_int_t)1,
                     "run.max_batches", (json_int_t)0, "run.warmup_batches", (json_int_t)0,
                     "run.checksum", 0, "run.rank", (json_int_t)0, "run.world", (json_int_t)1,
                     "run.cache", "as-is", "run.drop_caches", 0, "accelerators.count",
                     (json_int_t)1, "accelerators.barrier", 0, "accelerators.shared_workers", 0);
}

/* What reads past the page cache finds nothing there. */
static bool reads_past_cache(const json_t *config)
{
    return json_is_true(json_object_get(config, "loader.direct")) ||
           strcmp(dlb_json_text(config, "dataset.access"), dlb_access_names[DLB_ACCESS_DIRECT]) ==
               0;
}

/* Whether two warm passes read the same bytes: how they are loaded makes no difference. */
static bool same_data(const json_t *a, const json_t *b)
{
    static const char *const of_loading[] = {"loader.",    "device.",       "run.",
                                             "transform.", "accelerators.", "generate."};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)a, key, value) {
        bool loading = false;
        for (size_t i = 0; i < sizeof(of_loading) / sizeof(of_loading[0]); i++)
            loading = loading || strncmp(key, of_loading[i], strlen(of_loading[i])) == 0;
        if (!loading && !json_equal(value, json_object_get(b, key)))
            return false;
    }
    return true;
}

static int warm_of(const struct dlb_plan_input *in, const json_t *config, json_t **out,
                   struct dlb_err *err)
{
    json_t *overrides = warm_overrides(in->n_cpus);
    int rc =
        overrides ? dlb_flat_override(config, overrides, "warm pass", out, err) : no_memory(err);
    json_decref(overrides);
    return rc;
}

/* Whether a cell's data are read beforehand: before each of its repetitions, or once. */
static bool wants_warm(const struct dlb_plan_cell *cell, bool as_is, bool *each)
{
    const struct dlb_format *format =
        dlb_format_by_name(dlb_json_text(cell->config, "dataset.format"));
    const char *cache = dlb_json_text(cell->config, "run.cache");

    *each = strcmp(cache, dlb_run_cache_names[DLB_RUN_WARM]) == 0;
    if (cell->skipped || (format && format->synthetic) || reads_past_cache(cell->config))
        return false;
    return *each || (as_is && strcmp(cache, dlb_run_cache_names[DLB_RUN_AS_IS]) == 0);
}

int dlb_plan_warm(const struct dlb_plan_input *in, bool as_is, struct dlb_plan *plan,
                  struct dlb_err *err)
{
    plan->warms = calloc(plan->n_cells ? plan->n_cells : 1, sizeof(*plan->warms));
    if (!plan->warms)
        return no_memory(err);
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_plan_cell *cell = &plan->cells[i];
        json_t *warm = NULL;
        cell->warm = -1;
        if (!wants_warm(cell, as_is, &cell->warm_each))
            continue;
        int rc = warm_of(in, cell->config, &warm, err);
        if (rc)
            return rc;
        uint32_t at = 0;
        while (at < plan->n_warms && !same_data(plan->warms[at], warm))
            at++;
        cell->warm = at;
        if (at < plan->n_warms)
            json_decref(warm);
        else
            plan->warms[plan->n_warms++] = warm;
    }
    return DLB_OK;
}
