#include "bench/experiment/watch.h"

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "scenarios/run/task.h"
#include "scenarios/spec/meaning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *shown_key(const struct dlb_axis *axis)
{
    const char *name = dlb_axis_name(axis);
    return name ? name : axis->opt->key;
}

const char *dlb_watch_cell_text(const struct dlb_plan *plan, uint32_t cell, char *text,
                                size_t n_text)
{
    const struct dlb_plan_cell *planned = &plan->cells[cell];
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        if (json_array_size(axis->values) < 2 || at >= n_text ||
            !dlb_meaning_has(axis->group, axis->opt, planned->spec, planned->iterable))
            continue;
        json_t *value = dlb_axis_load(axis, planned->spec);
        char *shown = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        int n = snprintf(text + at, n_text - at, "%s%s=%s", at ? " " : "", shown_key(axis), shown);
        free(shown);
        json_decref(value);
        at += n > 0 ? (size_t)n : 0;
    }
    return text;
}

const char *dlb_watch_cell_name(const struct dlb_plan *plan, uint32_t cell, char *text,
                                size_t n_text)
{
    const char *name = plan->cells[cell].other.name;
    if (name)
        (void)snprintf(text, n_text, "%s", name);
    else
        (void)snprintf(text, n_text, "cell %u", cell);
    return text;
}

const char *dlb_watch_left_text(const struct dlb_plan *plan, double gone_s, char *text,
                                size_t n_text)
{
    double end_s = plan->race ? plan->race->cut_s : 0;
    if (plan->torch.there && !plan->hardware) /* another race follows */
        end_s = plan->cells[0].spec->sweep.max_minutes * 60;
    double left_s = end_s - gone_s;
    text[0] = '\0';
    if (left_s > 90)
        (void)snprintf(text, n_text, ", at most %.0f min left", ceil(left_s / 60));
    else if (left_s > 0)
        (void)snprintf(text, n_text, ", at most %.0f s left", ceil(left_s));
    return text;
}

static void describe(const struct dlb_watch *watch, const struct dlb_runner_event *event,
                     char *text, size_t n_text)
{
    const struct dlb_task *task = event->task;
    char cell[160] = "", batches[40] = "";
    const char *what = task->kind == DLB_TASK_WARM        ? "warm pass over the data"
                       : task->kind == DLB_TASK_CEILING   ? "ceiling (batches always ready)"
                       : task->kind == DLB_TASK_REFERENCE ? "reference cell"
                       : task->kind == DLB_TASK_BASELINE  ? "baseline (another program)"
                       : task->kind == DLB_TASK_IN_C      ? "the same work in C"
                                                          : "cell";
    const char *name =
        task->kind == DLB_TASK_CELL ? watch->plan->cells[task->index].other.name : NULL;
    if (name)
        what = name;
    if (task->kind == DLB_TASK_CELL && !name) {
        char settings[140];
        (void)dlb_watch_cell_text(watch->plan, task->index, settings, sizeof(settings));
        (void)snprintf(cell, sizeof(cell), settings[0] ? " %u %s" : " %u%s", task->index, settings);
    }
    if (event->n_batches > 0)
        (void)snprintf(batches, sizeof(batches), ", batch %llu",
                       (unsigned long long)event->n_batches);
    if (watch->plan->race) {
        char left[40];
        (void)snprintf(text, n_text, "%u done%s  block %u: %s%s%s", event->n_done,
                       dlb_watch_left_text(watch->plan, event->gone_s, left, sizeof(left)),
                       task->block + 1, what, cell, batches);
        return;
    }
    if (watch->grows) {
        (void)snprintf(text, n_text, "%u done: %s%s%s", event->n_done, what, cell, batches);
        return;
    }
    (void)snprintf(text, n_text, "%u of %u  block %u of %u: %s%s%s", event->n_done, event->n_tasks,
                   task->block < watch->plan->n_blocks ? task->block + 1 : watch->plan->n_blocks,
                   watch->plan->n_blocks, what, cell, batches);
}

/* For any kind of task: a failed reference or ceiling also weakens a result. The failure of the
 * only cell is reported when the run ends. */
static void tell_failure(struct dlb_watch *watch, const struct dlb_task *task,
                         const struct dlb_cell_result *result)
{
    const bool coded = result->code < DLB_N_CODES;
    const char *what = task->kind == DLB_TASK_WARM       ? "the warm pass over the data"
                       : task->kind == DLB_TASK_CEILING  ? "the ceiling"
                       : task->kind == DLB_TASK_BASELINE ? "the baseline"
                       : task->kind == DLB_TASK_IN_C     ? "the same work in C"
                                                         : "";
    char name[64] = "";
    if (task->kind == DLB_TASK_CELL && watch->plan->n_cells == 1)
        return;
    if (!what[0])
        (void)dlb_watch_cell_name(watch->plan, task->index, name, sizeof(name));
    dlb_say(stderr, "dlbench: %s%s%s failed in block %u: %s%s%s%s",
            task->kind == DLB_TASK_REFERENCE ? "reference " : "", what, name, task->block + 1,
            result->reason, coded ? " [" : "", coded ? dlb_code_name(result->code) : "",
            coded ? "]" : "");
}

/* What the device asks for if it never waits; NaN: not known. */
static double demand_per_s(const struct dlb_watch *watch, const struct dlb_task *task)
{
    const struct dlb_spec *spec = dlb_task_spec(watch->plan, task);
    if (!spec || dlb_task_mode(watch->plan, task) != DLB_MODE_MEASURE ||
        !(spec->device.step_ms > 0))
        return (double)NAN;
    return (double)spec->loader.batch_size * (double)spec->accelerators.count * 1e3 /
           spec->device.step_ms;
}

static bool is_elsewhere(const struct dlb_watch *watch, const struct dlb_task *task)
{
    const struct dlb_spec *spec = dlb_task_spec(watch->plan, task);
    return spec && dlb_spec_is_torch(spec);
}

/* Where the race stood after its last block. */
static void show_race(const struct dlb_plan *plan, struct dlb_view_race *out)
{
    *out = (struct dlb_view_race){.there = plan->race, .probability = (double)NAN};
    if (!plan->race)
        return;
    const struct dlb_race *race = &plan->race->race;
    out->needed = DLB_RACE_DECIDE;
    for (uint32_t i = 0; i < race->input.n_cells; i++) {
        out->n_left += race->cells[i].runs;
        out->n_all += race->cells[i].state != DLB_RACE_FAILED;
    }
    if (race->n_looked == 0 || race->leader < 0)
        return;
    char name[64], settings[200];
    uint32_t leader = (uint32_t)race->leader;
    (void)snprintf(out->leader, sizeof(out->leader), "%s %s",
                   dlb_watch_cell_name(plan, leader, name, sizeof(name)),
                   dlb_watch_cell_text(plan, leader, settings, sizeof(settings)));
    out->probability = race->cells[leader].probability;
}

/* For the live view. */
static void show(struct dlb_watch *watch, const struct dlb_runner_event *event)
{
    struct dlb_view *view = &watch->progress.view;
    if (event->what == DLB_RUNNER_START) {
        dlb_rates_restart(&watch->seen);
        view->measures = event->task->kind != DLB_TASK_WARM;
        view->demand_per_s = demand_per_s(watch, event->task);
        view->elsewhere = is_elsewhere(watch, event->task);
        view->rates = (struct dlb_rates){.samples_per_s = (double)NAN, .idle_frac = (double)NAN};
        show_race(watch->plan, &view->race);
    }
    if (!event->live)
        return;
    dlb_rates_look(&watch->seen, event->live, dlb_now_ns());
    dlb_rates_of(&watch->seen, event->live, &view->rates);
}

void dlb_watch_event(void *ctx, const struct dlb_runner_event *event)
{
    struct dlb_watch *watch = ctx;
    char text[320];
    if (event->what == DLB_RUNNER_BLOCK) {
        if (watch->save)
            watch->save(watch->ctx);
        return;
    }
    if (event->what == DLB_RUNNER_DONE && event->result->status == DLB_REP_FAILED)
        tell_failure(watch, event->task, event->result);
    /* The line takes its ETA from the pace: give it the share of time that leads to the runner's
     * own estimate. */
    double gone_s = (double)(dlb_now_ns() - watch->progress.start_ns) / 1e9;
    double frac = isfinite(event->eta_s) ? gone_s / (gone_s + event->eta_s) : (double)NAN;
    describe(watch, event, text, sizeof(text));
    if (watch->progress.live)
        show(watch, event);
    dlb_progress_update(&watch->progress, frac, text);
}
