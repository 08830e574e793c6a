#include "scenarios/run/times.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>

static void grow(double **values, uint32_t from, uint32_t to)
{
    *values = dlb_mem_grow(*values, (size_t)to + 1, sizeof(**values));
    for (uint32_t i = from; i <= to; i++)
        (*values)[i] = (double)NAN;
}

void dlb_run_times_open(struct dlb_run_times *times, const struct dlb_plan *plan)
{
    *times = (struct dlb_run_times){.baseline_s = (double)NAN, .in_c_s = (double)NAN};
    grow(&times->warm_s, 0, plan->n_warms);
}

void dlb_run_times_close(struct dlb_run_times *times)
{
    free(times->cell_s);
    free(times->ceiling_s);
    free(times->warm_s);
}

void dlb_run_times_fit(struct dlb_run_times *times, const struct dlb_plan *plan)
{
    grow(&times->cell_s, times->n_cells, plan->n_cells);
    grow(&times->ceiling_s, times->n_ceilings, plan->n_ceilings);
    times->n_cells = plan->n_cells;
    times->n_ceilings = plan->n_ceilings;
}

double *dlb_run_time_of(struct dlb_run_times *times, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_BASELINE)
        return &times->baseline_s;
    if (task->kind == DLB_TASK_IN_C)
        return &times->in_c_s;
    if (task->kind == DLB_TASK_WARM)
        return &times->warm_s[task->index];
    return dlb_task_is_cell(task) ? &times->cell_s[task->index] : &times->ceiling_s[task->index];
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

/* How long the current task takes, by its pace so far; NaN without one. */
static double paced_s(const struct dlb_plan *plan, const struct dlb_run_current *now)
{
    double planned =
        now->n_batches > 0 ? dlb_task_batches(plan, now->task, now->n_samples) : (double)NAN;
    return isfinite(planned) ? fmax(now->gone_s, now->gone_s * planned / (double)now->n_batches)
                             : (double)NAN;
}

double dlb_run_times_left_s(struct dlb_run_times *times, const struct dlb_plan *plan,
                            const struct dlb_run_current *now)
{
    double cell = mean_known(times->cell_s, plan->n_cells);
    double ceiling = mean_known(times->ceiling_s, plan->n_ceilings);
    double current = *dlb_run_time_of(times, now->task), sum = 0;
    const struct dlb_task *end = plan->tasks + plan->n_tasks;
    if (!isfinite(current))
        current = paced_s(plan, now);
    if (!isfinite(cell) && dlb_task_is_cell(now->task))
        cell = current;
    if (!isfinite(ceiling) && now->task->kind == DLB_TASK_CEILING)
        ceiling = current;
    for (const struct dlb_task *task = now->task + now->ended; task < end; task++) {
        if (!now->runs(now->ctx, task))
            continue;
        double expect = task == now->task ? current : *dlb_run_time_of(times, task);
        if (!isfinite(expect) && task->kind != DLB_TASK_WARM)
            expect = dlb_task_is_cell(task) ? cell : isfinite(ceiling) ? ceiling : cell;
        if (task == now->task && isfinite(expect))
            expect = fmax(expect - now->gone_s, 0);
        sum += expect;
    }
    return sum;
}
