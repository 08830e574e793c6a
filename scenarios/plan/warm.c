/* Which data are read beforehand, and how. */
#include "scenarios/plan/plan.h"

#include "core/base/mem.h"
#include "core/base/opt_value.h"

/* A pass over the cell's data: reads bytes with every CPU and trains no step. Sections on
 * loading and training have their defaults except for what a pass needs. */
static void make_warm(const struct dlb_plan_input *in, const struct dlb_spec *cell,
                      struct dlb_spec *out)
{
    struct dlb_spec plain;
    dlb_spec_defaults(&plain);
    *out = *cell;
    out->loader = plain.loader;
    out->run = plain.run;
    out->accelerators = plain.accelerators;
    out->device = plain.device;
    out->dataset.codec = dlb_opt_place(dlb_codec_names, "raw");
    out->dataset.on_error = DLB_ON_ERROR_SKIP;
    out->transform.where = DLB_WHERE_CPU;
    out->loader.batch_size = cell->loader.batch_size;
    out->loader.timeout_s = cell->loader.timeout_s;
    out->loader.num_workers = in->n_cpus ? in->n_cpus : 1;
    out->loader.prefetch_factor = 2;
    out->loader.shuffle = false;
    out->loader.pin_memory = false;
    out->loader.drop_last = false;
    out->loader.order = DLB_ORDER_ANY;
    out->device.kind = dlb_device_emulated();
    out->device.step_ms = 0;
    out->device.step_source[0] = '\0';
    out->device.prefetch = 1;
    out->run.epochs = 1;
    out->run.max_batches = 0;
    out->run.warmup_batches = 0;
    out->run.seed = cell->run.seed;
}

/* Reads past the page cache gain nothing from a warm pass. */
static bool reads_past_cache(const struct dlb_spec *spec)
{
    return spec->loader.direct || spec->dataset.access == DLB_ACCESS_DIRECT;
}

/* Whether two warm passes read the same bytes: how they are loaded makes no difference. */
static bool same_data(const struct dlb_spec *a, const struct dlb_spec *b)
{
    const struct dlb_opt_group *own = dlb_spec_format(a)->opts;
    return dlb_spec_section_equal(&dlb_dataset_group, a, b) &&
           (!own || dlb_spec_section_equal(own, a, b));
}

/* Whether a cell's data are read beforehand. */
static bool wants_warm(const struct dlb_plan_cell *cell, bool as_is)
{
    int cache = cell->spec->run.cache;
    if (cell->skipped || dlb_spec_format(cell->spec)->synthetic || reads_past_cache(cell->spec))
        return false;
    return cache == DLB_RUN_WARM || (as_is && cache == DLB_RUN_AS_IS);
}

static bool any_drops(const struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (!plan->cells[i].skipped && plan->cells[i].spec->run.cache == DLB_RUN_COLD)
            return true;
    return false;
}

static enum dlb_warm_when warm_when(const struct dlb_plan_cell *cell, bool drops)
{
    if (cell->spec->run.cache != DLB_RUN_WARM)
        return DLB_WARM_ONCE;
    return drops ? DLB_WARM_EACH : DLB_WARM_BLOCK;
}

void dlb_plan_warm(const struct dlb_plan_input *in, bool as_is, struct dlb_plan *plan)
{
    bool drops = any_drops(plan);
    plan->warms = dlb_mem_array(plan->n_cells, sizeof(*plan->warms));
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_plan_cell *cell = &plan->cells[i];
        cell->warm = -1;
        if (!wants_warm(cell, as_is))
            continue;
        cell->warm_when = warm_when(cell, drops);
        struct dlb_spec *warm = &plan->warms[plan->n_warms];
        uint32_t at = 0;
        make_warm(in, cell->spec, warm);
        while (!same_data(&plan->warms[at], warm))
            at++;
        cell->warm = at;
        plan->n_warms += at == plan->n_warms;
    }
}
