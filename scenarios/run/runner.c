#include "scenarios/run/runner.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/host/nvidia.h"
#include "core/host/osacct.h"
#include "loaders/device/memo.h"
#include "scenarios/cell/cell.h"
#include "scenarios/plan/plan.h"
#include "scenarios/run/again.h"
#include "scenarios/run/child.h"
#include "scenarios/run/known_data.h"
#include "scenarios/run/stall.h"
#include "scenarios/run/task.h"
#include "scenarios/run/times.h"
#include "scenarios/run/trace_path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct runner {
    const struct dlb_runner *how;
    struct dlb_plan *plan;
    struct dlb_results *results;
    const struct dlb_task *task;
    bool *cell_failed, *ceiling_failed;
    struct dlb_run_times times;
    struct dlb_known_data data;
    bool ended;              /* the current task */
    bool live;               /* nothing is left to be taken over from the journal */
    uint32_t n_done, n_left; /* n_left: after the current task */
    uint64_t start_ns, task_start_ns;
    struct dlb_os_machine machine_before; /* the first task of this process */
    struct dlb_kept_spent earlier;        /* by earlier processes */
    int gpu_fd; /* keeps the driver of the cells' GPU initialised; -1: none */
};

static double since_s(uint64_t start_ns)
{
    return (double)(dlb_now_ns() - start_ns) / 1e9;
}

static bool *failed_of(const struct runner *r, const struct dlb_task *task)
{
    return dlb_task_is_cell(task) ? &r->cell_failed[task->index] : &r->ceiling_failed[task->index];
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

double dlb_runner_least_s(const struct dlb_plan *plan, uint64_t n_samples)
{
    double sum = 0;
    for (uint32_t i = 0; i < plan->n_tasks; i++) {
        const struct dlb_task *task = &plan->tasks[i];
        const struct dlb_spec *spec = dlb_task_spec(plan, task);
        if (!spec || task->kind == DLB_TASK_WARM || task->kind == DLB_TASK_BASELINE)
            continue;
        double s = dlb_task_batches(plan, task, n_samples) / (double)spec->accelerators.count *
                   spec->device.step_ms * 1e-3;
        sum += isfinite(s) ? s : 0;
    }
    return sum;
}

static bool runs(void *ctx, const struct dlb_task *task)
{
    return !is_dropped(ctx, task);
}

/* NaN if some task has no time to go by, or if results decide which tasks follow. */
static double eta_s(struct runner *r, uint64_t n_batches)
{
    const struct dlb_run_current now = {.task = r->task,
                                        .ended = r->ended,
                                        .gone_s = since_s(r->task_start_ns),
                                        .n_batches = n_batches,
                                        .n_samples = r->how->n_samples,
                                        .runs = runs,
                                        .ctx = r};
    return r->plan->grows ? (double)NAN : dlb_run_times_left_s(&r->times, r->plan, &now);
}

static void tell(struct runner *r, enum dlb_runner_what what, const struct dlb_pulse *pulse,
                 const struct dlb_cell_result *result)
{
    if (!r->how->event || !r->live)
        return;
    uint64_t n_batches = pulse ? atomic_load(&pulse->n_batches) : 0;
    struct dlb_runner_event event = {
        .what = what,
        .task = r->task,
        .n_done = r->n_done,
        .n_tasks = r->n_done + r->n_left,
        .n_batches = n_batches,
        .live = pulse ? &pulse->live : NULL,
        .eta_s = eta_s(r, n_batches),
        .gone_s = r->earlier.elapsed_s + since_s(r->start_ns),
        .result = result,
    };
    r->how->event(r->how->ctx, &event);
}

static void tick(void *ctx, const struct dlb_pulse *pulse)
{
    tell(ctx, DLB_RUNNER_TICK, pulse, NULL);
}

/* Runs the current task's process. The caller frees *result. */
static int measure(struct runner *r, struct dlb_cell_result *result, struct dlb_err *err)
{
    static const char *const cell[] = {"dlbench", "cell", NULL}; /* bench/verbs/verb_cell.c */
    const enum dlb_cell_mode mode = dlb_task_mode(r->plan, r->task);
    const struct dlb_plan_program *program =
        dlb_task_is_cell(r->task) ? r->plan->cells[r->task->index].other.program : NULL;
    const struct dlb_spec *spec = dlb_task_spec(r->plan, r->task);
    char data_id[20];
    (void)snprintf(data_id, sizeof(data_id), "%" PRIx64, dlb_known_data_id(&r->data, spec));
    bool traces = r->how->traces && dlb_task_is_cell(r->task);
    char trace[PATH_MAX];
    int rc = traces ? dlb_trace_path(r->how->scratch, r->task->block, r->task->again, trace, err)
                    : DLB_OK;
    if (rc)
        return rc;
    const char *const tail[] = {"--mode",
                                dlb_cell_mode_names[mode],
                                "--memo",
                                r->how->scratch,
                                "--data-id",
                                data_id,
                                traces ? "--trace" : NULL,
                                traces ? trace : NULL,
                                NULL};
    json_t *config = dlb_task_config(r->plan, r->task);
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
        .stall_ns = r->how->stall_ns ? r->how->stall_ns : dlb_stall_ns(r->plan, r->task),
        .cancel = r->how->cancel,
        .tick = tick,
        .ctx = r,
    };
    r->task_start_ns = dlb_now_ns();
    r->ended = false;
    tell(r, DLB_RUNNER_START, NULL, NULL);
    bool together = r->how->run_cell && !program && mode != DLB_MODE_BASELINE;
    rc = together ? r->how->run_cell(r->how->team, &child, result, err)
                  : dlb_child_run(&child, program != NULL, result, err);
    json_decref(config);
    return rc;
}

/* What this process spent, and those before it. */
static struct dlb_kept_spent spent_now(const struct runner *r, double of_task_s)
{
    struct dlb_os_machine now;
    const struct dlb_os_machine *before = &r->machine_before;
    dlb_os_machine(&now);
    uint64_t stolen = dlb_count_rise(now.stolen_ticks, before->stolen_ticks);
    uint64_t all = dlb_count_rise(now.all_ticks, before->all_ticks);
    bool known = stolen != DLB_NOT_MEASURED && r->earlier.stolen_ticks != DLB_NOT_MEASURED;
    return (struct dlb_kept_spent){
        .elapsed_s = r->earlier.elapsed_s + since_s(r->start_ns),
        .unjudged_s = r->results->unjudged_s + (r->task->rewarms ? of_task_s : 0),
        .stolen_ticks = known ? stolen + r->earlier.stolen_ticks : DLB_NOT_MEASURED,
        .all_ticks = known ? all + r->earlier.all_ticks : DLB_NOT_MEASURED};
}

static void take_spent(struct runner *r, const struct dlb_kept_spent *spent)
{
    const struct dlb_os_machine from = {0}, to = {.stolen_ticks = spent->stolen_ticks,
                                                  .all_ticks = spent->all_ticks};
    r->results->elapsed_s = spent->elapsed_s;
    r->results->unjudged_s = spent->unjudged_s;
    r->results->stolen_frac = dlb_os_stolen_frac(&from, &to);
}

/* A failed reference does not fail its cell, which has its own runs. */
static void learn_failure(struct runner *r, const struct dlb_cell_result *result)
{
    bool failed = result->status == DLB_REP_FAILED || result->status == DLB_REP_NOT_MEASURED;
    if (failed && (r->task->kind == DLB_TASK_CELL || r->task->kind == DLB_TASK_CEILING))
        *failed_of(r, r->task) = true;
}

/* The process of the next cell finds the GPU that this one had still initialised. */
static void hold_gpu(struct runner *r, const struct dlb_cell_result *result)
{
    const char *bus_id = dlb_json_text(result->device.gpu, "pci_bus_id");
    if (r->live && r->gpu_fd < 0 && bus_id[0])
        r->gpu_fd = dlb_nvidia_hold(bus_id);
}

/* Adds the current task's result (taken over) to the others. */
static void take_result(struct runner *r, struct dlb_cell_result *result,
                        const struct dlb_kept_rep *rep)
{
    struct dlb_reps *reps = dlb_task_reps(r->results, r->task);
    r->ended = true;
    *dlb_run_time_of(&r->times, r->task) = rep->took_s;
    r->results->run_s[r->task->kind] += r->task->rewarms ? 0 : rep->took_s;
    if (r->task->kind == DLB_TASK_CELL && r->task->again > 0)
        r->results->again_s += rep->took_s;
    take_spent(r, &rep->spent);
    learn_failure(r, result);
    hold_gpu(r, result);
    dlb_known_data_add(&r->data, dlb_task_spec(r->plan, r->task), result->data_id);
    /* The event borrows it; what moves is the struct, not what it owns. */
    struct dlb_cell_result told = *result;
    if (r->task->again > 0)
        dlb_reps_replace(reps, result);
    else
        dlb_reps_add(reps, result);
    if (r->how->traces && dlb_task_is_cell(r->task))
        dlb_trace_drop(r->how->scratch, reps, r->task->block, r->task->again);
    r->n_done++;
    r->n_left--;
    tell(r, DLB_RUNNER_DONE, NULL, &told);
}

/* Runs the current task, or takes its result over from the journal. */
static int run_task(struct runner *r, struct dlb_err *err)
{
    struct dlb_kept *kept = r->how->kept;
    struct dlb_cell_result result;
    struct dlb_kept_rep rep = {.task = *r->task};
    if (kept)
        rep.config = dlb_task_hash(r->plan, r->task);
    int rc = r->live ? measure(r, &result, err) : dlb_kept_take_rep(kept, &rep, &result, err);
    if (rc)
        return rc;
    result.block = r->task->block;
    result.index = r->task->index;
    result.again = r->task->again;
    if (r->live) {
        rep.took_s = since_s(r->task_start_ns);
        rep.spent = spent_now(r, rep.took_s);
    }
    if (r->live && kept)
        rc = dlb_kept_add_rep(kept, &rep, &result, err);
    take_result(r, &result, &rep);
    return rc;
}

static uint32_t count_left(const struct runner *r, const struct dlb_task *from)
{
    uint32_t n = 0;
    for (const struct dlb_task *task = from; task < r->plan->tasks + r->plan->n_tasks; task++)
        n += !is_dropped(r, task);
    return n;
}

/* Whether the plan's time is up: what is left of a block would take too long beyond it. By the time
 * of the last task's end, so that a resumed run decides as the first one did. */
static bool is_late(const struct runner *r)
{
    const struct dlb_plan_race *race = r->plan->race;
    return race && race->cut_s > 0 && r->results->elapsed_s > race->cut_s;
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

/* The data may have left the page cache since: they are read once more, as before the first block.
 */
static void insert_warms(struct runner *r, uint32_t at)
{
    if (at > 0)
        dlb_plan_insert_warms(r->plan, at);
    r->task = &r->plan->tasks[at]; /* the tasks may have moved */
}

/* All that the journal has was taken over: from task `at` on they run. */
static int go_on(struct runner *r, uint32_t at, struct dlb_err *err)
{
    struct dlb_kept *kept = r->how->kept;
    r->live = true;
    if (!kept || !kept->resumes)
        return DLB_OK;
    struct dlb_kept_spent spent = kept->spent;
    double judged_s = r->results->elapsed_s - r->results->unjudged_s;
    spent.unjudged_s = fmax(spent.elapsed_s - judged_s, 0);
    take_spent(r, &spent);
    r->earlier = spent;
    r->start_ns = dlb_now_ns();
    r->results->n_resumed++;
    insert_warms(r, at);
    return dlb_kept_add_resumed(kept, &spent, err);
}

/* Before task `at`: repeats what earlier processes did where they were resumed. */
static int catch_up(struct runner *r, uint32_t at, struct dlb_err *err)
{
    struct dlb_kept *kept = r->how->kept;
    while (!r->live && kept && dlb_kept_next(kept) == DLB_KEPT_RESUMED) {
        struct dlb_kept_spent spent;
        dlb_kept_take_resumed(kept, &spent);
        take_spent(r, &spent);
        insert_warms(r, at);
    }
    bool more = !r->live && kept && dlb_kept_next(kept) != DLB_KEPT_NOTHING;
    return r->live || more ? DLB_OK : go_on(r, at, err);
}

/* After the last task of a block. One that was interrupted has not ended. */
static int end_block(struct runner *r, struct dlb_err *err)
{
    struct dlb_kept *kept = r->how->kept;
    uint32_t block = r->task->block;
    if (!r->live)
        return dlb_kept_take_block(kept, block, err);
    if (kept && !is_interrupted(r))
        return dlb_kept_add_block(kept, block, err);
    return DLB_OK;
}

/* Runs tasks from `first` on. Stops early if the user interrupts, or if the time is up. */
static int run_tasks(struct runner *r, uint32_t first, struct dlb_err *err)
{
    const struct dlb_plan *plan = r->plan; /* it grows where a repetition was disturbed */
    int rc = DLB_OK;
    for (uint32_t i = first; i < plan->n_tasks && !rc; i++) {
        r->task = &plan->tasks[i];
        rc = catch_up(r, i, err);
        if (rc || (r->live && is_interrupted(r)))
            break;
        if (!is_dropped(r, r->task) && !is_late(r)) {
            r->n_left = count_left(r, r->task);
            rc = run_task(r, err);
        }
        if (rc || !ends_block(r, i))
            continue;
        rc = end_block(r, err);
        if (!rc && i + 1 < plan->n_tasks)
            tell(r, DLB_RUNNER_BLOCK, NULL, NULL);
    }
    /* The answer stands before the same work in C, and is whole without it. */
    bool whole = r->task && r->task->kind == DLB_TASK_IN_C;
    r->results->interrupted = is_interrupted(r) && !whole;
    return rc;
}

static void grow_flags(bool **flags, uint32_t from, uint32_t to)
{
    *flags = dlb_mem_grow(*flags, (size_t)to + 1, sizeof(**flags));
    for (uint32_t i = from; i <= to; i++)
        (*flags)[i] = false;
}

/* Makes room for what is known of each cell and ceiling of the plan. */
static void fit(struct runner *r)
{
    const struct dlb_plan *plan = r->plan;
    grow_flags(&r->cell_failed, r->times.n_cells, plan->n_cells);
    grow_flags(&r->ceiling_failed, r->times.n_ceilings, plan->n_ceilings);
    dlb_run_times_fit(&r->times, plan);
    dlb_results_grow(r->results, plan);
}

/* The plan's tasks, then what the scenario adds to them in view of the results. */
static int run_plan(struct runner *r, struct dlb_err *err)
{
    const struct dlb_scenario *scenario = r->how->scenario;
    uint32_t n_run = 0;
    fit(r);
    for (;;) {
        int rc = run_tasks(r, n_run, err);
        n_run = r->plan->n_tasks;
        if (rc || r->results->interrupted || !scenario || !r->plan->grows)
            return rc;
        if (r->task)
            tell(r, DLB_RUNNER_BLOCK, NULL, NULL);
        r->task = NULL; /* the tasks may move */
        rc = scenario->next(r->plan, r->results, err);
        fit(r); /* a cell can be added for whose tasks no time is left: results are of all cells */
        if (rc || r->plan->n_tasks == n_run)
            return rc;
    }
}

int dlb_runner_execute(const struct dlb_runner *runner, struct dlb_plan *plan,
                       struct dlb_results *results, struct dlb_err *err)
{
    struct runner r = {
        .how = runner, .plan = plan, .results = results, .gpu_fd = -1, .start_ns = dlb_now_ns()};
    dlb_os_machine(&r.machine_before);
    dlb_known_data_add(&r.data, runner->looked_at, runner->data_id);
    dlb_run_times_open(&r.times, plan);
    if (runner->kept) {
        results->n_unjudged = runner->kept->n_unjudged;
        results->n_resumed = runner->kept->n_resumed;
    }
    int rc = run_plan(&r, err);
    dlb_memo_clear(runner->scratch);
    if (r.gpu_fd >= 0)
        (void)close(r.gpu_fd);
    free(r.cell_failed);
    free(r.ceiling_failed);
    dlb_run_times_close(&r.times);
    free(r.data.set);
    return rc;
}
