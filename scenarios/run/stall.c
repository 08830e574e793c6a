#include "scenarios/run/stall.h"

#include "core/base/clock.h"
#include "scenarios/run/task.h"

#include <math.h>

#define STALL_NS (300 * DLB_NS_PER_S)
#define STALL_STEPS 10
#define CEILING_MARGIN_S 15 /* beside loader.timeout_s: as long as workers have to stop */

/* A ceiling loads by itself, so it has no loader.timeout_s of its own: the longest of its cells.
 * 0: of another task, or a cell has none. */
static double ceiling_timeout_s(const struct dlb_plan *plan, const struct dlb_task *task)
{
    double longest_s = 0;
    if (task->kind != DLB_TASK_CEILING)
        return 0;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_plan_cell *cell = &plan->cells[i];
        if (cell->skipped || !cell->spec || cell->ceiling != task->index)
            continue;
        if (!(cell->spec->loader.timeout_s > 0))
            return 0;
        longest_s = fmax(longest_s, cell->spec->loader.timeout_s);
    }
    return longest_s;
}

uint64_t dlb_stall_ns(const struct dlb_plan *plan, const struct dlb_task *task)
{
    const struct dlb_spec *spec = dlb_task_spec(plan, task);
    if (!spec)
        return STALL_NS;
    double hang_s = spec->device.kind == dlb_device_emulated() ? 0 : spec->device.hang_s;
    if (spec->device.kind != dlb_device_emulated() && !(hang_s > 0))
        return 0; /* a debugger may hold the GPU for as long as it likes */
    double timeout_s = ceiling_timeout_s(plan, task);
    if (timeout_s > 0)
        return (uint64_t)((timeout_s + CEILING_MARGIN_S) * 1e9);
    const struct dlb_loader_opts *loader = &spec->loader;
    double batch_ns =
        (double)loader->batch_size * (loader->sample_sleep_us + loader->sample_spin_us) * 1e3;
    double longest = fmax(batch_ns, spec->device.step_ms * 1e6) * STALL_STEPS;
    /* Workers that exceed loader.timeout_s must fail by that limit, not by this one. */
    /* Nor is it the GPU's limit. */
    return (uint64_t)(fmax(longest, (double)STALL_NS) + loader->worker_init_ms * 1e6 +
                      (loader->timeout_s + hang_s) * 1e9);
}
