/* How many accelerators a storage feeds: `dlbench storage`. The plan grows: each repetition
 * decides which number of accelerators is measured next. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/judge/judge.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/twin.h"
#include "scenarios/spec/axes.h"
#include "scenarios/spec/meaning.h"
#include "scenarios/spec/rounds.h"
#include "scenarios/spec/spec.h"
#include "scenarios/storage/judge.h"
#include "scenarios/storage/sizing.h"
#include "scenarios/storage/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A supply below demand is hidden until the batches that workers made ahead are used up: W workers
 * begin with one each, and at the gate a step uses up 1 - gate of one. */
static int64_t settling_batches(const struct dlb_spec *spec)
{
    double lacking = 1 - spec->workload.gate;
    double workers = (double)spec->loader.num_workers;
    return (int64_t)fmin(ceil(workers / fmax(lacking, 0.01)), 1000);
}

static int check_size(const struct dlb_spec *spec, const struct dlb_plan_host *host,
                      struct dlb_err *err)
{
    struct dlb_sizing size = {.n_samples = host->n_samples,
                              .n_bytes = host->stored_bytes,
                              .batch_size = (uint64_t)spec->loader.batch_size,
                              .n_accelerators = (uint64_t)spec->run.world,
                              .ram_bytes = host->ram_bytes,
                              .write_bytes_per_s = (double)NAN};
    dlb_sizing_fill(&size);
    if (spec->storage.allow_small || dlb_formats[spec->dataset.format]->synthetic)
        return DLB_OK;
    if (!size.covers_ram)
        return dlb_fail(err, DLB_ERR_STORAGE_DATA_TOO_SMALL, spec->dataset.path, DLB_NO_OFFSET,
                        "%.1f GB on the storage are %.1f times the memory, of 5 that cold reads "
                        "need: gen %.0f GB (--dry-run), or set storage.allow_small=true",
                        (double)size.n_bytes / 1e9, size.ram_multiple,
                        (double)size.needed_bytes / 1e9);
    if (!size.covers_steps)
        return dlb_fail(err, DLB_ERR_STORAGE_TOO_FEW_STEPS, spec->dataset.path, DLB_NO_OFFSET,
                        "%llu step%s an epoch, of the %d that are needed: gen %llu samples "
                        "(--dry-run), or set storage.allow_small=true",
                        (unsigned long long)size.steps_per_epoch,
                        size.steps_per_epoch == 1 ? "" : "s", DLB_SIZING_STEPS,
                        (unsigned long long)size.needed_samples);
    return DLB_OK;
}

/* With storage.allow_small, epochs follow each other until all batches are measured. */
static void set_epochs(const struct dlb_plan *plan, struct dlb_spec *spec, uint32_t n)
{
    /* Each accelerator has a batch: dlb_storage_data_limit ensures it. */
    double per_epoch = fmax(dlb_storage_steps_per_epoch(plan, n), 1);
    if (!spec->storage.allow_small || spec->run.max_batches == 0 || plan->host.n_samples == 0)
        return;
    spec->run.epochs =
        (int64_t)fmax(ceil(dlb_spec_wanted(spec) / per_epoch), (double)spec->run.epochs);
}

static void add_repetition(struct dlb_plan *plan, uint32_t cell, uint32_t block)
{
    dlb_plan_add_task(plan,
                      (struct dlb_task){.kind = DLB_TASK_CELL, .index = cell, .block = block});
}

/* The base configuration with that many accelerators; all else is as in the first cell. */
static void add_cell(struct dlb_plan *plan, uint32_t n)
{
    plan->cells = dlb_mem_grow(plan->cells, (size_t)plan->n_cells + 1, sizeof(*plan->cells));
    struct dlb_plan_cell *cell = &plan->cells[plan->n_cells++];
    *cell = plan->cells[0];
    cell->spec = dlb_mem_new(sizeof(*cell->spec));
    *cell->spec = *plan->base;
    cell->spec->accelerators.count = n;
    cell->spec->run.warmup_batches = plan->cells[0].spec->run.warmup_batches;
    set_epochs(plan, cell->spec, n);
    dlb_meaning_settle(cell->spec, cell->iterable);
    dlb_json_append(plan->axes.axis[0].values, json_integer(n));
}

static void measure(struct dlb_plan *plan, const struct dlb_storage_view *view, uint32_t n)
{
    int64_t cell = dlb_storage_cell_of(plan, n);
    uint32_t block = cell >= 0 ? view->points[cell].n_values : 0;
    if (cell < 0) {
        add_cell(plan, n);
        cell = plan->n_cells - 1;
    }
    add_repetition(plan, (uint32_t)cell, block);
}

/* Adds the cell's null-source twins, repeated as often as a cell. */
static void add_twins(struct dlb_plan *plan, const struct dlb_results *results, uint32_t cell)
{
    const struct dlb_reps *reps = &results->cells[cell];
    const struct dlb_share *total = reps->n > 0 ? &reps->rep[0].loop.total : NULL;
    double sample =
        total ? ceil(dlb_measured(total->n_bytes) / dlb_measured(total->n_samples)) : (double)NAN;
    if (!(sample >= 1))
        return; /* nothing was measured that they could stand beside */
    plan->ceilings =
        dlb_mem_grow(plan->ceilings, (size_t)plan->n_ceilings + 2, sizeof(*plan->ceilings));
    plan->cells[cell].twin = plan->n_ceilings + 1;
    for (int what = DLB_TWIN_STEPS; what <= DLB_TWIN_FREE; what++)
        dlb_twin_spec(plan->cells[cell].spec, (uint64_t)sample, (enum dlb_twin)what,
                      &plan->ceilings[plan->n_ceilings++]);
    for (uint32_t i = 0; i < 2 * plan->n_blocks; i++)
        dlb_plan_add_task(plan, (struct dlb_task){.kind = DLB_TASK_CEILING,
                                                  .index = plan->n_ceilings - 2 + i % 2,
                                                  .block = i / 2});
}

/* Adds the other program and the pipeline in turns, beyond the border, where the pipeline gives
 * all it can. Their block numbers follow those of the search, which ignores them. */
static void add_baseline(struct dlb_plan *plan, int64_t cell)
{
    for (uint32_t i = 0; cell >= 0 && i < plan->n_blocks; i++) {
        dlb_plan_add_task(plan, (struct dlb_task){.kind = DLB_TASK_BASELINE,
                                                  .index = (uint32_t)cell,
                                                  .block = plan->n_blocks + i});
        add_repetition(plan, (uint32_t)cell, plan->n_blocks + i);
    }
}

static bool wants_baseline(const struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_tasks; i++)
        if (plan->tasks[i].kind == DLB_TASK_BASELINE)
            return false;
    return plan->cells[0].spec->storage.baseline == DLB_BASELINE_FIO;
}

static int next_storage(struct dlb_plan *plan, const struct dlb_results *results,
                        struct dlb_err *err)
{
    struct dlb_storage_view view;
    struct dlb_search_step step;
    uint32_t n_tasks = plan->n_tasks;
    (void)err;
    dlb_storage_view_open(&view, plan, results);
    dlb_search_next(&view.search, &step);
    /* The cell that the verdict is about: beyond the border, where there is one. */
    int64_t decisive =
        step.done ? dlb_storage_cell_of(plan, step.capped ? step.best : step.best + 1) : -1;
    bool two = view.search.max_n >= 2 && dlb_storage_cell_of(plan, 2) < 0;
    if (view.stopped || step.cut)
        goto out; /* what is there is judged */
    if (!step.done)
        measure(plan, &view, step.n);
    else if (step.best == 0 && two) /* whether two get more than one tells latency from bandwidth */
        measure(plan, &view, 2);
    else if (plan->n_ceilings == 0 && decisive >= 0)
        add_twins(plan, results, (uint32_t)decisive);
    if (plan->n_tasks == n_tasks && wants_baseline(plan))
        add_baseline(plan, decisive);
out:
    dlb_storage_view_close(&view);
    return DLB_OK;
}

static void n_runs(const struct dlb_plan *plan, uint32_t *least, uint32_t *most)
{
    const struct dlb_storage_opts *opts = &plan->base->storage;
    uint32_t limit = dlb_storage_data_limit(plan, NULL), repeats = plan->n_blocks;
    uint32_t asked = (uint32_t)opts->max_accelerators, n = asked < limit ? asked : limit;
    uint32_t beside = 2 * repeats; /* null-source twins */
    if (opts->baseline != DLB_BASELINE_NONE)
        beside += 2 * repeats;
    *least = dlb_search_n_runs(1, repeats) + beside;
    *most = dlb_search_n_runs(n, repeats) + beside;
}

/* Reports before the search what would end it after the first number. */
static int check_counts(const struct dlb_plan *plan, const struct dlb_spec *spec,
                        const struct dlb_config *cfg, struct dlb_err *err)
{
    const char *of, *each = spec->run.world > 1 ? " on each rank" : "";
    uint32_t limit = dlb_storage_data_limit(plan, &of);
    if (limit == 0 && spec->storage.allow_small)
        return dlb_fail(err, DLB_ERR_STORAGE_TOO_FEW_SAMPLES, spec->dataset.path, DLB_NO_OFFSET,
                        "not enough %s for a full batch of %lld%s: lower loader.batch_size%s, gen "
                        "more, or set loader.drop_last=false",
                        of, (long long)spec->loader.batch_size, each,
                        plan->host.n_shards > 0 ? " or loader.num_workers" : "");
    if (limit == 0)
        return dlb_fail(err, DLB_ERR_STORAGE_TOO_FEW_SAMPLES, spec->dataset.path, DLB_NO_OFFSET,
                        "not enough %s for the steps of one accelerator%s: lower run.max_batches, "
                        "gen more, or set storage.allow_small=true",
                        of, each);
    if (limit > 1 && spec->storage.max_accelerators > 1 && !spec->loader.pin_memory)
        return dlb_fail(err, DLB_ERR_ACCELERATORS_NEED_PINNING,
                        dlb_config_origin(cfg, "loader.pin_memory"), DLB_NO_OFFSET,
                        "two accelerators and more need loader.pin_memory = true: a pageable copy "
                        "blocks the one thread that drives them all; or set "
                        "storage.max_accelerators=1");
    if (limit > 1 && spec->storage.max_accelerators > 1 && spec->device.host_busy_frac > 0)
        return dlb_fail(err, DLB_ERR_HOST_PART_OF_ONE,
                        dlb_config_origin(cfg, "device.host_busy_frac"), DLB_NO_OFFSET,
                        "the one thread that drives all accelerators cannot spend CPU time for "
                        "each of them: set device.host_busy_frac=0 or storage.max_accelerators=1");
    return DLB_OK;
}

static int plan_first(const struct dlb_plan_input *in, const struct dlb_spec *spec,
                      struct dlb_plan *out, struct dlb_err *err)
{
    struct dlb_axes axes = {0};
    dlb_axes_add(&axes, &dlb_accelerators_group, "count", dlb_json_made(json_pack("[i]", 1)));
    int rc = dlb_plan_cells(in, &axes, out, err);
    if (rc)
        return rc;
    struct dlb_plan_cell *first = &out->cells[0];
    if (first->skipped)
        return dlb_fail(err, first->code, NULL, DLB_NO_OFFSET, "%s", first->reason);
    out->host = in->host;
    out->base = dlb_mem_new(sizeof(*out->base));
    *out->base = *spec;
    out->n_blocks = (uint32_t)spec->run.repeats;
    out->reference = -1;
    out->grows = true;
    first->ceiling = UINT32_MAX; /* the gate says what a ceiling would */
    if (!dlb_config_has(in->cfg, "run.warmup_batches"))
        first->spec->run.warmup_batches = settling_batches(spec);
    set_epochs(out, first->spec, 1);
    rc = check_counts(out, spec, in->cfg, err);
    if (rc)
        return rc;
    dlb_plan_warm(in, false, out);
    first->warm_when = DLB_WARM_EACH; /* its repetitions are no blocks of many cells */
    add_repetition(out, 0, 0);
    return DLB_OK;
}

static int plan_storage(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    memset(out, 0, sizeof(*out));
    int rc = dlb_spec_from_config(spec, in->cfg, err);
    if (!rc)
        rc = check_size(spec, &in->host, err);
    if (!rc)
        rc = plan_first(in, spec, out, err);
    free(spec);
    if (rc)
        dlb_plan_free(out);
    return rc;
}

static void judge_storage(const struct dlb_plan *plan, const struct dlb_results *results,
                          uint32_t n_cpus, struct dlb_judgement *out)
{
    dlb_judge_cells(plan, results, n_cpus, out);
    dlb_storage_judge(plan, results, out);
}

const struct dlb_scenario dlb_sc_storage = {
    .name = "storage",
    .summary = "how many accelerators a storage feeds, and what stands in the way of one more",
    .weighs_host = true,
    .varies = "accelerators.count",
    .until = "storage.max_accelerators",
    .plan = plan_storage,
    .next = next_storage,
    .n_runs = n_runs,
    .judge = judge_storage,
};
