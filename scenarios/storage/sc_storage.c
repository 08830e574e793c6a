/* How many accelerators a storage feeds: `dlbench storage`. The plan grows: each repetition tells
 * which number of accelerators to look at next. */
#include "scenarios/judge/judge.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/twin.h"
#include "scenarios/spec/flat.h"
#include "scenarios/spec/spec.h"
#include "scenarios/storage/judge.h"
#include "scenarios/storage/sizing.h"
#include "scenarios/storage/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A supply below demand is hidden until the batches that workers made ahead are used up: W workers
 * begin with one each, and at the gate a step uses up 1 - gate of one. */
static json_int_t settling_batches(const struct dlb_spec *spec)
{
    double lacking = 1 - spec->workload.gate;
    double workers = (double)spec->loader.num_workers;
    return (json_int_t)fmin(ceil(workers / fmax(lacking, 0.01)), 1000);
}

static int check_size(const struct dlb_spec *spec, const struct dlb_plan_host *host,
                      struct dlb_err *err)
{
    struct dlb_sizing size = {.n_samples = host->n_samples,
                              .n_bytes = host->stored_bytes,
                              .batch_size = (uint64_t)spec->loader.batch_size,
                              .n_accelerators = 1,
                              .ram_bytes = host->ram_bytes,
                              .write_bytes_per_s = (double)NAN};
    dlb_sizing_fill(&size);
    if (spec->storage.allow_small || dlb_formats[spec->dataset.format]->synthetic)
        return DLB_OK;
    if (!size.covers_ram)
        return dlb_fail(err, DLB_ERR_CONFIG, spec->dataset.path, DLB_NO_OFFSET,
                        "%.1f GB on the storage are %.1f times the memory, of 5 that cold reads "
                        "need: gen %.0f GB (--dry-run), or set storage.allow_small=true",
                        (double)size.n_bytes / 1e9, size.ram_multiple,
                        (double)size.needed_bytes / 1e9);
    if (!size.covers_steps)
        return dlb_fail(err, DLB_ERR_CONFIG, spec->dataset.path, DLB_NO_OFFSET,
                        "%llu step%s an epoch, of the %d that are needed: gen %llu samples "
                        "(--dry-run), or set storage.allow_small=true",
                        (unsigned long long)size.steps_per_epoch,
                        size.steps_per_epoch == 1 ? "" : "s", DLB_SIZING_STEPS,
                        (unsigned long long)size.needed_samples);
    return DLB_OK;
}

/* With small data that was asked for, epochs follow each other until all batches are there. */
static bool set_epochs(const struct dlb_plan *plan, json_t *config, uint32_t n)
{
    /* Nobody is without a batch: the limit of the data saw to that. */
    double per_epoch = fmax(dlb_storage_steps_per_epoch(plan, n), 1);
    double wanted = dlb_json_number(config, "run.max_batches") +
                    dlb_json_number(config, "run.warmup_batches") + 1;
    if (!json_is_true(json_object_get(config, "storage.allow_small")) ||
        !(dlb_json_number(config, "run.max_batches") > 0) || plan->host.n_samples == 0)
        return true;
    double epochs = fmax(ceil(wanted / per_epoch), dlb_json_number(config, "run.epochs"));
    return dlb_json_put(config, "run.epochs", json_integer((json_int_t)epochs));
}

static int no_memory(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the plan");
}

static int add_task(struct dlb_plan *plan, enum dlb_task_kind kind, uint32_t index, uint32_t block,
                    struct dlb_err *err)
{
    struct dlb_task *tasks =
        realloc(plan->tasks, ((size_t)plan->n_tasks + 1) * sizeof(*plan->tasks));
    if (!tasks)
        return no_memory(err);
    plan->tasks = tasks;
    tasks[plan->n_tasks++] = (struct dlb_task){.kind = kind, .index = index, .block = block};
    return DLB_OK;
}

/* After a warm pass of its own, where that is wanted (run.cache = "warm"). */
static int add_repetition(struct dlb_plan *plan, uint32_t cell, uint32_t block, struct dlb_err *err)
{
    if (plan->cells[cell].warm_each) {
        int rc = add_task(plan, DLB_TASK_WARM, (uint32_t)plan->cells[cell].warm, block, err);
        if (rc)
            return rc;
        plan->tasks[plan->n_tasks - 1].for_next = true;
    }
    return add_task(plan, DLB_TASK_CELL, cell, block, err);
}

/* What has no meaning for one accelerator was left out of the first cell. */
static bool put_back(const struct dlb_plan *plan, json_t *config)
{
    static const char *const keys[] = {"accelerators.barrier", "accelerators.shared_workers"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!dlb_json_put(config, keys[i], json_incref(json_object_get(plan->base, keys[i]))))
            return false;
    return true;
}

/* The first cell with another number of accelerators, in a new place. */
static int add_cell(struct dlb_plan *plan, uint32_t n, struct dlb_err *err)
{
    struct dlb_plan_cell *cells =
        realloc(plan->cells, ((size_t)plan->n_cells + 1) * sizeof(*plan->cells));
    if (!cells)
        return no_memory(err);
    plan->cells = cells;
    struct dlb_plan_cell *cell = &cells[plan->n_cells];
    *cell = cells[0];
    cell->config = json_copy(cells[0].config);
    if (!cell->config)
        return no_memory(err);
    plan->n_cells++;
    bool ok = dlb_json_put(cell->config, "accelerators.count", json_integer(n)) &&
              put_back(plan, cell->config) && set_epochs(plan, cell->config, n) &&
              json_array_append_new(json_object_get(plan->axes, "accelerators.count"),
                                    json_integer(n)) == 0;
    return ok ? DLB_OK : no_memory(err);
}

static int measure(struct dlb_plan *plan, const struct dlb_storage_view *view, uint32_t n,
                   struct dlb_err *err)
{
    int64_t cell = dlb_storage_cell_of(plan, n);
    uint32_t block = cell >= 0 ? view->points[cell].n_values : 0;
    if (cell < 0) {
        int rc = add_cell(plan, n, err);
        if (rc)
            return rc;
        cell = plan->n_cells - 1;
    }
    return add_repetition(plan, (uint32_t)cell, block, err);
}

/* The cell's null-source twins, as often as a cell is repeated: what dlbench takes, and how fast it
 * could go. */
static int add_twins(struct dlb_plan *plan, const struct dlb_results *results, uint32_t cell,
                     struct dlb_err *err)
{
    const json_t *doc = json_array_get(results->cells[cell], 0);
    double sample = ceil(dlb_json_number(doc, "n_bytes") / dlb_json_number(doc, "n_samples"));
    json_t **grown =
        realloc((void *)plan->ceilings, ((size_t)plan->n_ceilings + 2) * sizeof(*grown));
    if (!grown)
        return no_memory(err);
    plan->ceilings = grown;
    if (!(sample >= 1))
        return DLB_OK; /* nothing was measured that they could stand beside */
    plan->cells[cell].twin = plan->n_ceilings + 1;
    for (int what = DLB_TWIN_STEPS; what <= DLB_TWIN_FREE; what++) {
        int rc = dlb_twin_config(plan->cells[cell].config, (uint64_t)sample, (enum dlb_twin)what,
                                 &grown[plan->n_ceilings], err);
        if (rc)
            return rc;
        plan->n_ceilings++;
    }
    for (uint32_t i = 0; i < 2 * plan->n_blocks; i++) {
        int rc = add_task(plan, DLB_TASK_CEILING, plan->n_ceilings - 2 + i % 2, i / 2, err);
        if (rc)
            return rc;
    }
    return DLB_OK;
}

/* The other program and the pipeline in turns, where the pipeline gives all it can: beyond the
 * border. Their blocks go on from those of the search, which looks at no more than it asked for. */
static int add_baseline(struct dlb_plan *plan, int64_t cell, struct dlb_err *err)
{
    int rc = DLB_OK;
    for (uint32_t i = 0; cell >= 0 && i < plan->n_blocks && !rc; i++) {
        rc = add_task(plan, DLB_TASK_BASELINE, (uint32_t)cell, plan->n_blocks + i, err);
        if (!rc)
            rc = add_repetition(plan, (uint32_t)cell, plan->n_blocks + i, err);
    }
    return rc;
}

static bool wants_baseline(const struct dlb_plan *plan)
{
    const char *baseline = dlb_json_text(plan->cells[0].config, "storage.baseline");
    for (uint32_t i = 0; i < plan->n_tasks; i++)
        if (plan->tasks[i].kind == DLB_TASK_BASELINE)
            return false;
    return strcmp(baseline, "fio") == 0;
}

static int next_storage(struct dlb_plan *plan, const struct dlb_results *results,
                        struct dlb_err *err)
{
    struct dlb_storage_view view;
    struct dlb_search_step step;
    uint32_t n_tasks = plan->n_tasks;
    int rc = dlb_storage_view_open(&view, plan, results, err);
    if (rc)
        return rc;
    dlb_search_next(&view.search, &step);
    /* The cell that the verdict is about: beyond the border, where there is one. */
    int64_t decisive =
        step.done ? dlb_storage_cell_of(plan, step.capped ? step.best : step.best + 1) : -1;
    bool two = view.search.max_n >= 2 && dlb_storage_cell_of(plan, 2) < 0;
    if (view.stopped)
        rc = DLB_OK; /* what is there is judged */
    else if (!step.done)
        rc = measure(plan, &view, step.n, err);
    else if (step.best == 0 && two) /* whether two get more than one tells latency from bandwidth */
        rc = measure(plan, &view, 2, err);
    else if (plan->n_ceilings == 0 && decisive >= 0)
        rc = add_twins(plan, results, (uint32_t)decisive, err);
    if (!rc && plan->n_tasks == n_tasks && !view.stopped && wants_baseline(plan))
        rc = add_baseline(plan, decisive, err);
    dlb_storage_view_close(&view);
    return rc;
}

/* What would end the search after a first number was measured is said before it. */
static int check_counts(const struct dlb_plan *plan, const struct dlb_spec *spec,
                        const struct dlb_config *cfg, struct dlb_err *err)
{
    const char *of;
    uint32_t limit = dlb_storage_data_limit(plan, &of);
    if (limit == 0 && spec->storage.allow_small)
        return dlb_fail(err, DLB_ERR_CONFIG, spec->dataset.path, DLB_NO_OFFSET,
                        "not enough %s for a full batch of %lld: lower loader.batch_size%s, gen "
                        "more, or set loader.drop_last=false",
                        of, (long long)spec->loader.batch_size,
                        plan->host.n_shards > 0 ? " or loader.num_workers" : "");
    if (limit == 0)
        return dlb_fail(err, DLB_ERR_CONFIG, spec->dataset.path, DLB_NO_OFFSET,
                        "not enough %s for the steps of one accelerator: lower run.max_batches, "
                        "gen more, or set storage.allow_small=true",
                        of);
    if (limit > 1 && spec->storage.max_accelerators > 1 && !spec->loader.pin_memory)
        return dlb_fail(err, DLB_ERR_CONFIG, dlb_config_origin(cfg, "loader.pin_memory"),
                        DLB_NO_OFFSET,
                        "two accelerators and more need loader.pin_memory = true: a pageable copy "
                        "blocks the one thread that drives them all; or set "
                        "storage.max_accelerators=1");
    return DLB_OK;
}

static int plan_first(const struct dlb_plan_input *in, const struct dlb_spec *spec,
                      struct dlb_plan *out, struct dlb_err *err)
{
    json_t *axes = json_pack("{s[i]}", "accelerators.count", 1);
    int rc = axes ? dlb_plan_cells(in, axes, out, err) : no_memory(err);
    json_decref(axes);
    if (rc)
        return rc;
    json_t *config = out->cells[0].config;
    bool said = dlb_config_has(in->cfg, "run.warmup_batches");
    out->host = in->host;
    out->base = dlb_config_resolved(in->cfg);
    if (!out->base)
        return no_memory(err);
    out->n_blocks = (uint32_t)spec->run.repeats;
    out->seed = (uint64_t)spec->run.seed;
    out->reference = -1;
    out->cells[0].ceiling = UINT32_MAX; /* the gate says what a ceiling would */
    if (!said && !dlb_json_put(config, "run.warmup_batches", json_integer(settling_batches(spec))))
        return no_memory(err);
    if (!set_epochs(out, config, 1))
        return no_memory(err);
    rc = check_counts(out, spec, in->cfg, err);
    if (!rc)
        rc = dlb_plan_warm(in, false, out, err);
    return rc ? rc : add_repetition(out, 0, 0, err);
}

static int plan_storage(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    memset(out, 0, sizeof(*out));
    struct dlb_spec *spec = malloc(sizeof(*spec));
    int rc = spec ? dlb_spec_from_config(spec, in->cfg, err) : no_memory(err);
    if (!rc)
        rc = check_size(spec, &in->host, err);
    if (!rc)
        rc = plan_first(in, spec, out, err);
    free(spec);
    if (rc)
        dlb_plan_free(out);
    return rc;
}

static int judge_storage(const struct dlb_plan *plan, const struct dlb_results *results,
                         uint32_t n_cpus, struct dlb_judgement *out, struct dlb_err *err)
{
    int rc = dlb_judge_cells(plan, results, n_cpus, out, err);
    if (!rc)
        rc = dlb_storage_judge(plan, results, out, err);
    return rc;
}

const struct dlb_scenario dlb_sc_storage = {
    .name = "storage",
    .summary = "how many accelerators a storage feeds, and what stands in the way of one more",
    .plan = plan_storage,
    .next = next_storage,
    .judge = judge_storage,
};
