#include "bench/experiment/watch.h"

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *dlb_watch_cell_text(const struct dlb_plan *plan, uint32_t cell, char *text,
                                size_t n_text)
{
    const json_t *config = plan->cells[cell].config;
    const char *key;
    json_t *axis;
    size_t at = 0;
    text[0] = '\0';
    json_object_foreach(plan->axes, key, axis) {
        const json_t *value = json_object_get(config, key);
        const char *dot = strrchr(key, '.');
        if (json_array_size(axis) < 2 || json_is_null(value) || at >= n_text)
            continue;
        char *shown = dlb_mem_check(json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)));
        int n =
            snprintf(text + at, n_text - at, "%s%s=%s", at ? " " : "", dot ? dot + 1 : key, shown);
        free(shown);
        at += n > 0 ? (size_t)n : 0;
    }
    return text;
}

static void describe(const struct dlb_watch *watch, const struct dlb_runner_event *event,
                     char *text, size_t n_text)
{
    const struct dlb_task *task = event->task;
    char cell[160] = "", batches[40] = "";
    const char *what = task->kind == DLB_TASK_WARM        ? "warm pass over the data"
                       : task->kind == DLB_TASK_CEILING   ? "ceiling (the step alone)"
                       : task->kind == DLB_TASK_REFERENCE ? "reference cell"
                       : task->kind == DLB_TASK_BASELINE  ? "baseline (another program)"
                                                          : "cell";
    const char *name = task->kind == DLB_TASK_CELL ? watch->plan->cells[task->index].name : NULL;
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
    if (watch->grows) {
        (void)snprintf(text, n_text, "%u done: %s%s%s", event->n_done, what, cell, batches);
        return;
    }
    (void)snprintf(text, n_text, "%u of %u  block %u of %u: %s%s%s", event->n_done, event->n_tasks,
                   task->block < watch->plan->n_blocks ? task->block + 1 : watch->plan->n_blocks,
                   watch->plan->n_blocks, what, cell, batches);
}

/* Every kind of task is reported: without its reference or ceiling a result says less. */
static void tell_failure(struct dlb_watch *watch, const struct dlb_task *task, const char *reason)
{
    struct dlb_progress *progress = &watch->progress;
    uint32_t block = task->block + 1;
    switch (task->kind) {
    case DLB_TASK_WARM:
        dlb_progress_note(progress, "dlbench: the warm pass over the data failed: %s", reason);
        break;
    case DLB_TASK_REFERENCE:
        dlb_progress_note(progress,
                          "dlbench: reference cell %u failed at the start of block %u: %s",
                          task->index, block, reason);
        break;
    case DLB_TASK_CEILING:
        dlb_progress_note(progress, "dlbench: the ceiling failed in block %u: %s", block, reason);
        break;
    case DLB_TASK_BASELINE:
        dlb_progress_note(progress, "dlbench: the baseline failed in block %u: %s", block, reason);
        break;
    case DLB_TASK_CELL:
        if (watch->plan->cells[task->index].name)
            dlb_progress_note(progress, "dlbench: %s failed in block %u: %s",
                              watch->plan->cells[task->index].name, block, reason);
        else if (watch->plan->n_cells >
                 1) /* the only cell's failure is reported when the run ends */
            dlb_progress_note(progress, "dlbench: cell %u failed in block %u: %s", task->index,
                              block, reason);
        break;
    }
}

/* "reason [E_NAME]". Returns `text`. */
static const char *coded_reason(const json_t *doc, char *text, size_t n_text)
{
    const char *reason = dlb_json_text(doc, "reason"), *code = dlb_json_text(doc, "code");
    (void)snprintf(text, n_text, "%s%s%s%s", *reason ? reason : "no reason given",
                   *code ? " [" : "", code, *code ? "]" : "");
    return text;
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
    if (event->what == DLB_RUNNER_DONE &&
        strcmp(dlb_json_text(event->doc, "status"), "failed") == 0) {
        char reason[sizeof(struct dlb_err) + 64];
        tell_failure(watch, event->task, coded_reason(event->doc, reason, sizeof(reason)));
    }
    /* The line takes its ETA from the pace: give it the share of time that leads to the runner's
     * own estimate. */
    double gone_s = (double)(dlb_now_ns() - watch->start_ns) / 1e9;
    double frac = isfinite(event->eta_s) ? gone_s / (gone_s + event->eta_s) : (double)NAN;
    describe(watch, event, text, sizeof(text));
    dlb_progress_update(&watch->progress, frac, text);
}
