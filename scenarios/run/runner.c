#include "scenarios/run/runner.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/host/osacct.h"
#include "loaders/device/memo.h"
#include "scenarios/cell/cell.h"
#include "scenarios/plan/plan.h"
#include "scenarios/run/again.h"
#include "scenarios/run/child.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STALL_NS (300 * DLB_NS_PER_S)
#define STALL_STEPS 10
#define CEILING_MARGIN_S 15 /* beside loader.timeout_s: as long as workers have to stop */

/* A data set of the plan, by the settings that choose it. */
struct known_data {
    struct dlb_spec spec;
    uint64_t id; /* dlb_shape.id */
};

struct runner {
    const struct dlb_runner *how;
    struct dlb_plan *plan;
    struct dlb_results *results;
    const struct dlb_task *task;
    bool *cell_failed, *ceiling_failed;
    double *cell_s, *ceiling_s, *warm_s; /* what the last run of each took; NaN: has not run */
    double baseline_s, in_c_s;
    struct known_data *data; /* those that were opened */
    uint32_t n_data;
    uint32_t n_cells, n_ceilings; /* that these arrays have room for */
    bool ended;                   /* the current task */
    uint32_t n_done, n_left;      /* n_left: after the current task */
    uint64_t start_ns, task_start_ns;
    struct dlb_os_machine machine_before; /* the first task */
};

static bool is_cell(const struct dlb_task *task)
{
    return task->kind == DLB_TASK_CELL || task->kind == DLB_TASK_REFERENCE;
}

static bool *failed_of(const struct runner *r, const struct dlb_task *task)
{
    return is_cell(task) ? &r->cell_failed[task->index] : &r->ceiling_failed[task->index];
}

/* A ceiling that no cell needs any more. Those of storage, which adds cells, are always needed. */
static bool is_needless(const struct runner *r, const struct dlb_task *task)
{
    bool any = false;
    for (uint32_t i = 0; i < r->plan->n_cells; i++) {
        const struct dlb_plan_cell *cell = &r->plan->cells[i];
        if (cell->skipped || cell->ceiling != task->index)
            continue;
        if (!r->cell_failed[i])
            return false;
        any = true;
    }
    return any;
}

static bool is_dropped(const struct runner *r, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_WARM)
        return task->for_next && is_dropped(r, &task[1]);
    if (task->kind == DLB_TASK_CEILING && is_needless(r, task))
        return true;
    if (task->kind == DLB_TASK_IN_C)
        return r->results->in_c.n > 0 && r->results->in_c.rep[0].status == DLB_REP_FAILED;
    return task->kind != DLB_TASK_BASELINE && *failed_of(r, task);
}

/* NULL for a cell that another program measures. */
static const struct dlb_spec *spec_of(const struct dlb_plan *plan, const struct dlb_task *task)
{
    switch (task->kind) {
    case DLB_TASK_WARM:
        return &plan->warms[task->index];
    case DLB_TASK_CEILING:
        return &plan->ceilings[task->index];
    case DLB_TASK_IN_C:
        return plan->in_c.spec;
    case DLB_TASK_CELL:
    case DLB_TASK_REFERENCE:
    case DLB_TASK_BASELINE:
        break;
    }
    return plan->cells[task->index].spec;
}

/* The configuration for the task's process. New reference. */
static json_t *config_of(const struct dlb_plan *plan, const struct dlb_task *task)
{
    const struct dlb_spec *spec = spec_of(plan, task);
    if (!spec) {
        const struct dlb_plan_other *other = &plan->cells[task->index].other;
        return json_incref(other->first && task->block == 0 ? other->first : other->config);
    }
    bool of_cell = is_cell(task) || task->kind == DLB_TASK_IN_C;
    json_t *flat = dlb_spec_to_json(spec, of_cell && plan->cells[task->index].iterable);
    dlb_json_put(flat, "run.seed", json_integer(dlb_plan_block_seed(spec->run.seed, task->block)));
    return flat;
}

static double *took(struct runner *r, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_BASELINE)
        return &r->baseline_s;
    if (task->kind == DLB_TASK_IN_C)
        return &r->in_c_s;
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

/* How many batches a task takes; NaN if that cannot be predicted. */
static double planned_batches(const struct dlb_plan *plan, const struct dlb_task *task,
                              uint64_t n_samples)
{
    const struct dlb_spec *spec = spec_of(plan, task);
    return spec && task->kind != DLB_TASK_WARM ? dlb_plan_batches(spec, n_samples) : (double)NAN;
}

double dlb_runner_least_s(const struct dlb_plan *plan, uint64_t n_samples)
{
    double sum = 0;
    for (uint32_t i = 0; i < plan->n_tasks; i++) {
        const struct dlb_task *task = &plan->tasks[i];
        const struct dlb_spec *spec = spec_of(plan, task);
        if (!spec || task->kind == DLB_TASK_WARM || task->kind == DLB_TASK_BASELINE)
            continue;
        double s = planned_batches(plan, task, n_samples) / (double)spec->accelerators.count *
                   spec->device.step_ms * 1e-3;
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

/* Remaining time: each task takes as long as its last run, or as the mean of its kind. NaN if
 * some task has neither. */
static double eta_s(struct runner *r, uint64_t n_batches)
{
    if (r->plan->grows)
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

static void tell(struct runner *r, enum dlb_runner_what what, uint64_t n_batches,
                 const struct dlb_cell_result *result)
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
        .result = result,
    };
    r->how->event(r->how->ctx, &event);
}

static void tick(void *ctx, uint64_t n_batches)
{
    tell(ctx, DLB_RUNNER_TICK, n_batches, NULL);
}

/* A ceiling loads by itself, so it has no loader.timeout_s of its own: the longest of its cells.
 * 0: of another task, or a cell has none. */
static double ceiling_timeout_s(const struct runner *r)
{
    double longest_s = 0;
    if (r->task->kind != DLB_TASK_CEILING)
        return 0;
    for (uint32_t i = 0; i < r->plan->n_cells; i++) {
        const struct dlb_plan_cell *cell = &r->plan->cells[i];
        if (cell->skipped || !cell->spec || cell->ceiling != r->task->index)
            continue;
        if (!(cell->spec->loader.timeout_s > 0))
            return 0;
        longest_s = fmax(longest_s, cell->spec->loader.timeout_s);
    }
    return longest_s;
}

static uint64_t stall_ns(const struct runner *r, const struct dlb_spec *spec)
{
    if (r->how->stall_ns)
        return r->how->stall_ns;
    if (!spec)
        return STALL_NS;
    double timeout_s = ceiling_timeout_s(r);
    if (timeout_s > 0)
        return (uint64_t)((timeout_s + CEILING_MARGIN_S) * 1e9);
    const struct dlb_loader_opts *loader = &spec->loader;
    double batch_ns =
        (double)loader->batch_size * (loader->sample_sleep_us + loader->sample_spin_us) * 1e3;
    double longest = fmax(batch_ns, spec->device.step_ms * 1e6) * STALL_STEPS;
    /* Workers that exceed loader.timeout_s must fail by that limit, not by this one. */
    return (uint64_t)(fmax(longest, (double)STALL_NS) + loader->worker_init_ms * 1e6 +
                      loader->timeout_s * 1e9);
}

static struct dlb_reps *reps_of(const struct runner *r, const struct dlb_task *task)
{
    switch (task->kind) {
    case DLB_TASK_WARM:
        return &r->results->warm;
    case DLB_TASK_REFERENCE:
        return &r->results->reference;
    case DLB_TASK_CELL:
        return &r->results->cells[task->index];
    case DLB_TASK_CEILING:
        return &r->results->ceilings[task->index];
    case DLB_TASK_IN_C:
        return &r->results->in_c;
    case DLB_TASK_BASELINE:
        break;
    }
    return &r->results->baseline;
}

static void learn(struct runner *r, const struct dlb_cell_result *result)
{
    *took(r, r->task) = (double)(dlb_now_ns() - r->task_start_ns) / 1e9;
    r->ended = true;
    /* A failed reference does not fail its cell, which has its own runs. */
    bool failed = result->status == DLB_REP_FAILED || result->status == DLB_REP_NOT_MEASURED;
    if (failed && (r->task->kind == DLB_TASK_CELL || r->task->kind == DLB_TASK_CEILING))
        *failed_of(r, r->task) = true;
}

/* The id that the task's data set must have; 0: not known. */
static uint64_t data_id_of(const struct runner *r, const struct dlb_spec *spec)
{
    for (uint32_t i = 0; spec && i < r->n_data; i++)
        if (dlb_spec_same_data(spec, &r->data[i].spec))
            return r->data[i].id;
    return 0;
}

static void learn_data(struct runner *r, const struct dlb_spec *spec, uint64_t id)
{
    if (!spec || id == 0 || data_id_of(r, spec) != 0)
        return;
    r->data = dlb_mem_grow(r->data, (size_t)r->n_data + 1, sizeof(*r->data));
    r->data[r->n_data++] = (struct known_data){.spec = *spec, .id = id};
}

static enum dlb_cell_mode mode_of(const struct dlb_plan *plan, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_CEILING && task->index < plan->n_resident)
        return DLB_MODE_CEILING;
    return task->kind == DLB_TASK_WARM       ? DLB_MODE_WARM
           : task->kind == DLB_TASK_BASELINE ? DLB_MODE_BASELINE
                                             : DLB_MODE_MEASURE;
}

static int run_task(struct runner *r, struct dlb_err *err)
{
    static const char *const cell[] = {"dlbench", "cell", NULL}; /* bench/verbs/verb_cell.c */
    const enum dlb_cell_mode mode = mode_of(r->plan, r->task);
    const struct dlb_plan_program *program =
        is_cell(r->task) ? r->plan->cells[r->task->index].other.program : NULL;
    const struct dlb_spec *spec = spec_of(r->plan, r->task);
    char data_id[20];
    (void)snprintf(data_id, sizeof(data_id), "%" PRIx64, data_id_of(r, spec));
    const char *const tail[] = {
        "--mode", dlb_cell_mode_names[mode], "--memo", r->how->scratch, "--data-id", data_id, NULL};
    json_t *config = config_of(r->plan, r->task);
    struct dlb_child child = {
        .exe = program && program->exe ? program->exe
               : r->how->exe           ? r->how->exe
                                       : "/proc/self/exe",
        .program = program ? program->exe : NULL,
        .lead = program ? program->lead : cell,
        .tail = program ? NULL : tail,
        .config = config,
        .data_path = spec ? spec->dataset.path : NULL,
        .scratch = r->how->scratch,
        .stall_ns = stall_ns(r, spec),
        .cancel = r->how->cancel,
        .tick = tick,
        .ctx = r,
    };
    struct dlb_cell_result result;
    r->task_start_ns = dlb_now_ns();
    r->ended = false;
    tell(r, DLB_RUNNER_START, 0, NULL);
    int rc = dlb_child_run(&child, program != NULL, &result, err);
    json_decref(config);
    if (rc)
        return rc;
    result.block = r->task->block;
    result.index = r->task->index;
    result.again = r->task->again;
    learn(r, &result);
    learn_data(r, spec, result.data_id);
    struct dlb_os_machine now;
    dlb_os_machine(&now);
    r->results->run_s[r->task->kind] += (double)(dlb_now_ns() - r->task_start_ns) / 1e9;
    r->results->elapsed_s = (double)(dlb_now_ns() - r->start_ns) / 1e9;
    r->results->stolen_frac = dlb_os_stolen_frac(&r->machine_before, &now);
    struct dlb_reps *reps = reps_of(r, r->task);
    /* The event borrows it; what moves is the struct, not what it owns. */
    struct dlb_cell_result told = result;
    if (r->task->again > 0)
        dlb_reps_replace(reps, &result);
    else
        dlb_reps_add(reps, &result);
    r->n_done++;
    r->n_left--;
    tell(r, DLB_RUNNER_DONE, 0, &told);
    return DLB_OK;
}

static uint32_t count_left(const struct runner *r, const struct dlb_task *from)
{
    uint32_t n = 0;
    for (const struct dlb_task *task = from; task < r->plan->tasks + r->plan->n_tasks; task++)
        n += !is_dropped(r, task);
    return n;
}

/* Whether the plan's time is up: what is left of a block would take too long beyond it. */
static bool is_late(const struct runner *r)
{
    double gone_s = (double)(dlb_now_ns() - r->start_ns) / 1e9;
    return r->plan->race && r->plan->race->cut_s > 0 && gone_s > r->plan->race->cut_s;
}

static bool runs(void *ctx, const struct dlb_task *task)
{
    return !is_dropped(ctx, task);
}

/* Whether task `i` is the last of its block, after what is to be measured again was added. */
static bool ends_block(struct runner *r, uint32_t i)
{
    struct dlb_plan *plan = r->plan;
    bool ends = i + 1 == plan->n_tasks || plan->tasks[i + 1].block != plan->tasks[i].block;
    if (!ends)
        return false;
    bool repeats = r->how->scenario && r->how->scenario->repeats_disturbed && !is_late(r);
    const struct dlb_again_of of = {.runs = runs, .ctx = r};
    bool more = repeats && dlb_again_add(plan, r->results, &of, i) > 0;
    r->task = &plan->tasks[i]; /* the tasks may have moved */
    return !more;
}

static bool is_interrupted(const struct runner *r)
{
    return r->how->cancel && atomic_load(r->how->cancel);
}

/* Runs tasks from `first` on. Stops early if the user interrupts, or if the time is up. */
static int run_tasks(struct runner *r, uint32_t first, struct dlb_err *err)
{
    const struct dlb_plan *plan = r->plan; /* it grows where a repetition was disturbed */
    for (uint32_t i = first; i < plan->n_tasks; i++) {
        r->task = &plan->tasks[i];
        if (is_interrupted(r))
            break;
        if (!is_dropped(r, r->task) && !is_late(r)) {
            r->n_left = count_left(r, r->task);
            int rc = run_task(r, err);
            if (rc)
                return rc;
        }
        if (ends_block(r, i) && i + 1 < plan->n_tasks)
            tell(r, DLB_RUNNER_BLOCK, 0, NULL);
    }
    /* The answer stands before the same work in C, and is whole without it. */
    bool whole = r->task && r->task->kind == DLB_TASK_IN_C;
    r->results->interrupted = is_interrupted(r) && !whole;
    return DLB_OK;
}

static void grow_values(double **values, uint32_t from, uint32_t to)
{
    *values = dlb_mem_grow(*values, (size_t)to + 1, sizeof(**values));
    for (uint32_t i = from; i <= to; i++)
        (*values)[i] = (double)NAN;
}

static void grow_flags(bool **flags, uint32_t from, uint32_t to)
{
    *flags = dlb_mem_grow(*flags, (size_t)to + 1, sizeof(**flags));
    for (uint32_t i = from; i <= to; i++)
        (*flags)[i] = false;
}

/* Makes room for the times of each cell and ceiling of the plan. */
static void fit(struct runner *r)
{
    const struct dlb_plan *plan = r->plan;
    grow_flags(&r->cell_failed, r->n_cells, plan->n_cells);
    grow_values(&r->cell_s, r->n_cells, plan->n_cells);
    grow_flags(&r->ceiling_failed, r->n_ceilings, plan->n_ceilings);
    grow_values(&r->ceiling_s, r->n_ceilings, plan->n_ceilings);
    r->n_cells = plan->n_cells;
    r->n_ceilings = plan->n_ceilings;
    dlb_results_grow(r->results, plan);
}

/* The plan's tasks, then what the scenario adds to them in view of the results. */
static int run_plan(struct runner *r, struct dlb_err *err)
{
    const struct dlb_scenario *scenario = r->how->scenario;
    uint32_t n_run = 0;
    for (;;) {
        fit(r);
        int rc = run_tasks(r, n_run, err);
        n_run = r->plan->n_tasks;
        if (rc || r->results->interrupted || !scenario || !r->plan->grows)
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
    struct runner r = {.how = runner,
                       .plan = plan,
                       .results = results,
                       .baseline_s = (double)NAN,
                       .in_c_s = (double)NAN,
                       .start_ns = dlb_now_ns()};
    dlb_os_machine(&r.machine_before);
    learn_data(&r, runner->looked_at, runner->data_id);
    grow_values(&r.warm_s, 0, plan->n_warms);
    int rc = run_plan(&r, err);
    dlb_memo_clear(runner->scratch);
    free(r.cell_failed);
    free(r.ceiling_failed);
    free(r.cell_s);
    free(r.ceiling_s);
    free(r.warm_s);
    free(r.data);
    return rc;
}
