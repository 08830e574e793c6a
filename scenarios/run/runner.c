#include "scenarios/run/runner.h"

#include "core/base/clock.h"
#include "loaders/device/memo.h"
#include "scenarios/cell/cell.h"
#include "scenarios/judge/judge.h"
#include "scenarios/run/child.h"
#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STALL_NS (300 * DLB_NS_PER_S)
#define STALL_STEPS 10

struct runner {
    const struct dlb_runner *how;
    struct dlb_plan *plan;
    struct dlb_results *results;
    const struct dlb_task *task;
    bool *cell_failed, *ceiling_failed;
    double *cell_s, *ceiling_s, *warm_s; /* what the last run of each took; NaN: has not run */
    double baseline_s;
    uint32_t n_cells, n_ceilings; /* that these arrays have room for */
    bool ended;                   /* the current task */
    uint32_t n_done, n_left;      /* n_left: after the current task */
    uint64_t task_start_ns;
};

static bool is_cell(const struct dlb_task *task)
{
    return task->kind == DLB_TASK_CELL || task->kind == DLB_TASK_REFERENCE;
}

static bool *failed_of(const struct runner *r, const struct dlb_task *task)
{
    return is_cell(task) ? &r->cell_failed[task->index] : &r->ceiling_failed[task->index];
}

static bool is_dropped(const struct runner *r, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_WARM)
        return task->for_next && is_cell(&task[1]) && r->cell_failed[task[1].index];
    return task->kind != DLB_TASK_BASELINE && *failed_of(r, task);
}

static const json_t *config_of(const struct dlb_plan *plan, const struct dlb_task *task)
{
    switch (task->kind) {
    case DLB_TASK_WARM:
        return plan->warms[task->index];
    case DLB_TASK_CEILING:
        return plan->ceilings[task->index];
    case DLB_TASK_CELL:
    case DLB_TASK_REFERENCE:
    case DLB_TASK_BASELINE:
        break;
    }
    const struct dlb_plan_cell *cell = &plan->cells[task->index];
    return cell->first && task->block == 0 ? cell->first : cell->config;
}

static double *took(struct runner *r, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_BASELINE)
        return &r->baseline_s;
    if (task->kind == DLB_TASK_WARM)
        return &r->warm_s[task->index];
    return is_cell(task) ? &r->cell_s[task->index] : &r->ceiling_s[task->index];
}

static double mean_known(const double *values, uint32_t n)
{
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            known++;
        }
    return known ? sum / known : (double)NAN;
}

/* How many batches a task takes; NaN where that cannot be told beforehand. */
static double planned_batches(const struct dlb_plan *plan, const struct dlb_task *task,
                              uint64_t n_samples)
{
    if (task->kind == DLB_TASK_WARM)
        return (double)NAN;
    const json_t *config = config_of(plan, task);
    bool synthetic = strcmp(dlb_json_text(config, "dataset.format"), "synthetic") == 0;
    double samples = synthetic   ? dlb_json_number(config, "generate.samples")
                     : n_samples ? (double)n_samples
                                 : (double)NAN;
    double n_ranks = (double)dlb_pytorch_ranks(config),
           world = dlb_json_number(config, "run.world");
    double of_rank = samples / n_ranks / dlb_json_number(config, "loader.batch_size");
    bool drops = json_is_true(json_object_get(config, "loader.drop_last"));
    double per_epoch = (drops ? floor(of_rank) : ceil(of_rank)) * n_ranks / world;
    double all = per_epoch * dlb_json_number(config, "run.epochs");
    double measured = dlb_json_number(config, "run.max_batches");
    double n = (double)dlb_json_u64(config, "accelerators.count", 1);
    /* The step after the last measured one closes the window. */
    double wanted = measured > 0
                        ? n * (measured + dlb_json_number(config, "run.warmup_batches") + 1)
                        : (double)INFINITY;
    return fmin(all, wanted); /* of the one that is known */
}

double dlb_runner_least_s(const struct dlb_plan *plan, uint64_t n_samples)
{
    double sum = 0;
    for (uint32_t i = 0; i < plan->n_tasks; i++) {
        const struct dlb_task *task = &plan->tasks[i];
        if (task->kind == DLB_TASK_WARM || task->kind == DLB_TASK_BASELINE)
            continue;
        const json_t *config = config_of(plan, task);
        double n = (double)dlb_json_u64(config, "accelerators.count", 1);
        double s = planned_batches(plan, task, n_samples) / n *
                   dlb_json_number(config, "device.step_ms") * 1e-3;
        sum += isfinite(s) ? s : 0;
    }
    return sum;
}

/* How long the current task takes, by its pace so far; NaN without one. */
static double paced_s(const struct runner *r, double gone_s, uint64_t n_batches)
{
    double planned =
        n_batches > 0 ? planned_batches(r->plan, r->task, r->how->n_samples) : (double)NAN;
    return isfinite(planned) ? fmax(gone_s, gone_s * planned / (double)n_batches) : (double)NAN;
}

/* What is left, each task as long as its last run, or as the mean of its kind. NaN as long as there
 * is a task that nothing is known about. */
static double eta_s(struct runner *r, uint64_t n_batches)
{
    if (r->how->scenario && r->how->scenario->next)
        return (double)NAN;
    double cell = mean_known(r->cell_s, r->plan->n_cells);
    double ceiling = mean_known(r->ceiling_s, r->plan->n_ceilings);
    double gone = (double)(dlb_now_ns() - r->task_start_ns) / 1e9;
    double current = *took(r, r->task), sum = 0;
    const struct dlb_task *end = r->plan->tasks + r->plan->n_tasks;
    if (!isfinite(current))
        current = paced_s(r, gone, n_batches);
    if (!isfinite(cell) && is_cell(r->task))
        cell = current;
    if (!isfinite(ceiling) && r->task->kind == DLB_TASK_CEILING)
        ceiling = current;
    for (const struct dlb_task *task = r->task + r->ended; task < end; task++) {
        if (is_dropped(r, task))
            continue;
        double expect = task == r->task ? current : *took(r, task);
        if (!isfinite(expect) && task->kind != DLB_TASK_WARM)
            expect = is_cell(task) ? cell : isfinite(ceiling) ? ceiling : cell;
        if (task == r->task && isfinite(expect))
            expect = fmax(expect - gone, 0);
        sum += expect;
    }
    return sum;
}

static void tell(struct runner *r, enum dlb_runner_what what, uint64_t n_batches, const json_t *doc)
{
    if (!r->how->event)
        return;
    struct dlb_runner_event event = {
        .what = what,
        .task = r->task,
        .n_done = r->n_done,
        .n_tasks = r->n_done + r->n_left,
        .n_batches = n_batches,
        .eta_s = eta_s(r, n_batches),
        .doc = doc,
    };
    r->how->event(r->how->ctx, &event);
}

static void tick(void *ctx, uint64_t n_batches)
{
    tell(ctx, DLB_RUNNER_TICK, n_batches, NULL);
}

static uint64_t stall_ns(const struct runner *r, const json_t *config)
{
    if (r->how->stall_ns)
        return r->how->stall_ns;
    double batch = dlb_json_number(config, "loader.batch_size") *
                   (dlb_json_number(config, "loader.sample_sleep_us") +
                    dlb_json_number(config, "loader.sample_spin_us")) *
                   1e3;
    double step = dlb_json_number(config, "device.step_ms") * 1e6;
    double longest = fmax(isfinite(batch) ? batch : 0, isfinite(step) ? step : 0) * STALL_STEPS;
    double init = dlb_json_number(config, "loader.worker_init_ms") * 1e6;
    double timeout = dlb_json_number(config, "loader.timeout_s") * 1e9;
    /* The user's own limit comes first. */
    return (uint64_t)(fmax(longest, (double)STALL_NS) + (isfinite(init) ? init : 0) +
                      (isfinite(timeout) ? timeout : 0));
}

static int keep(const struct runner *r, json_t *doc, struct dlb_err *err)
{
    int rc = json_object_set_new(doc, "block", json_integer(r->task->block));
    rc |= json_object_set_new(doc, "index", json_integer(r->task->index));
    switch (r->task->kind) {
    case DLB_TASK_WARM:
        rc |= json_array_append(r->results->warm, doc);
        break;
    case DLB_TASK_REFERENCE:
        rc |= json_array_append(r->results->reference, doc);
        break;
    case DLB_TASK_CELL:
        rc |= json_array_append(r->results->cells[r->task->index], doc);
        break;
    case DLB_TASK_CEILING:
        rc |= json_array_append(r->results->ceilings[r->task->index], doc);
        break;
    case DLB_TASK_BASELINE:
        rc |= json_array_append(r->results->baseline, doc);
        break;
    }
    return rc ? dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for results")
              : DLB_OK;
}

static void learn(struct runner *r, const json_t *doc)
{
    *took(r, r->task) = (double)(dlb_now_ns() - r->task_start_ns) / 1e9;
    r->ended = true;
    /* A reference that fails says no more than that: its cell has runs of its own. */
    const char *status = dlb_json_text(doc, "status");
    bool failed = strcmp(status, "failed") == 0 || strcmp(status, "not-measured") == 0;
    if (failed && (r->task->kind == DLB_TASK_CELL || r->task->kind == DLB_TASK_CEILING))
        *failed_of(r, r->task) = true;
}

static int run_task(struct runner *r, struct dlb_err *err)
{
    static const char *const cell[] = {"dlbench", "cell", NULL}; /* bench/verbs/verb_cell.c */
    const enum dlb_cell_mode mode = r->task->kind == DLB_TASK_WARM       ? DLB_MODE_WARM
                                    : r->task->kind == DLB_TASK_BASELINE ? DLB_MODE_BASELINE
                                                                         : DLB_MODE_MEASURE;
    const char *const tail[] = {"--mode", dlb_cell_mode_names[mode], "--memo", r->how->scratch,
                                NULL};
    const struct dlb_plan_program *other =
        is_cell(r->task) ? r->plan->cells[r->task->index].program : NULL;
    const json_t *config = config_of(r->plan, r->task);
    struct dlb_child child = {
        .exe = other && other->exe ? other->exe
               : r->how->exe       ? r->how->exe
                                   : "/proc/self/exe",
        .lead = other ? other->lead : cell,
        .tail = other ? NULL : tail,
        .config = config,
        .scratch = r->how->scratch,
        .stall_ns = stall_ns(r, config),
        .cancel = r->how->cancel,
        .tick = tick,
        .ctx = r,
    };
    json_t *doc = NULL;
    r->task_start_ns = dlb_now_ns();
    r->ended = false;
    tell(r, DLB_RUNNER_START, 0, NULL);
    int rc = dlb_child_run(&child, &doc, err);
    if (!rc)
        rc = keep(r, doc, err);
    if (!rc) {
        learn(r, doc);
        r->n_done++;
        r->n_left--;
        tell(r, DLB_RUNNER_DONE, 0, doc);
    }
    json_decref(doc);
    return rc;
}

static uint32_t count_left(const struct runner *r, const struct dlb_task *from)
{
    uint32_t n = 0;
    for (const struct dlb_task *task = from; task < r->plan->tasks + r->plan->n_tasks; task++)
        n += !is_dropped(r, task);
    return n;
}

/* From task `first` on. Stops early, and says so, when the user does. */
static int run_tasks(struct runner *r, uint32_t first, struct dlb_err *err)
{
    const struct dlb_plan *plan = r->plan;
    for (uint32_t i = first; i < plan->n_tasks; i++) {
        r->task = &plan->tasks[i];
        if (r->how->cancel && atomic_load(r->how->cancel)) {
            r->results->interrupted = true;
            return DLB_OK;
        }
        if (!is_dropped(r, r->task)) {
            r->n_left = count_left(r, r->task);
            int rc = run_task(r, err);
            if (rc)
                return rc;
        }
        if (i + 1 < plan->n_tasks && plan->tasks[i + 1].block != r->task->block)
            tell(r, DLB_RUNNER_BLOCK, 0, NULL);
    }
    r->results->interrupted = r->how->cancel && atomic_load(r->how->cancel);
    return DLB_OK;
}

static bool grow_values(double **values, uint32_t from, uint32_t to)
{
    double *grown = realloc(*values, ((size_t)to + 1) * sizeof(*grown));
    if (!grown)
        return false;
    *values = grown;
    for (uint32_t i = from; i <= to; i++)
        grown[i] = (double)NAN;
    return true;
}

static bool grow_flags(bool **flags, uint32_t from, uint32_t to)
{
    bool *grown = realloc(*flags, ((size_t)to + 1) * sizeof(*grown));
    if (!grown)
        return false;
    *flags = grown;
    for (uint32_t i = from; i <= to; i++)
        grown[i] = false;
    return true;
}

/* Room for what is known of each cell and ceiling of the plan. */
static int fit(struct runner *r, struct dlb_err *err)
{
    const struct dlb_plan *plan = r->plan;
    bool ok = grow_flags(&r->cell_failed, r->n_cells, plan->n_cells) &&
              grow_values(&r->cell_s, r->n_cells, plan->n_cells) &&
              grow_flags(&r->ceiling_failed, r->n_ceilings, plan->n_ceilings) &&
              grow_values(&r->ceiling_s, r->n_ceilings, plan->n_ceilings);
    r->n_cells = plan->n_cells;
    r->n_ceilings = plan->n_ceilings;
    return ok ? dlb_results_grow(r->results, plan, err)
              : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a run");
}

/* The plan's tasks, then what the scenario adds to them in view of the results. */
static int run_plan(struct runner *r, struct dlb_err *err)
{
    const struct dlb_scenario *scenario = r->how->scenario;
    uint32_t n_run = 0;
    int rc = DLB_OK;
    for (;;) {
        rc = fit(r, err);
        if (!rc)
            rc = run_tasks(r, n_run, err);
        n_run = r->plan->n_tasks;
        if (rc || r->results->interrupted || !scenario || !scenario->next)
            return rc;
        if (r->task)
            tell(r, DLB_RUNNER_BLOCK, 0, NULL);
        r->task = NULL; /* the tasks may move */
        rc = scenario->next(r->plan, r->results, err);
        if (rc || r->plan->n_tasks == n_run)
            return rc;
    }
}

int dlb_runner_execute(const struct dlb_runner *runner, struct dlb_plan *plan,
                       struct dlb_results *results, struct dlb_err *err)
{
    struct runner r = {.how = runner, .plan = plan, .results = results, .baseline_s = (double)NAN};
    int rc = grow_values(&r.warm_s, 0, plan->n_warms)
                 ? run_plan(&r, err)
                 : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a run");
    dlb_memo_clear(runner->scratch);
    free(r.cell_failed);
    free(r.ceiling_failed);
    free(r.cell_s);
    free(r.ceiling_s);
    free(r.warm_s);
    return rc;
}
