#include "scenarios/run/task.h"

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool dlb_task_is_cell(const struct dlb_task *task)
{
    return task->kind == DLB_TASK_CELL || task->kind == DLB_TASK_REFERENCE;
}

const struct dlb_spec *dlb_task_spec(const struct dlb_plan *plan, const struct dlb_task *task)
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

json_t *dlb_task_config(const struct dlb_plan *plan, const struct dlb_task *task)
{
    const struct dlb_spec *spec = dlb_task_spec(plan, task);
    if (!spec) {
        const struct dlb_plan_other *other = &plan->cells[task->index].other;
        return json_incref(other->first && task->block == 0 ? other->first : other->config);
    }
    bool of_cell = dlb_task_is_cell(task) || task->kind == DLB_TASK_IN_C;
    json_t *flat = dlb_spec_to_json(spec, of_cell && plan->cells[task->index].iterable);
    dlb_json_put(flat, "run.seed", json_integer(dlb_plan_block_seed(spec->run.seed, task->block)));
    return flat;
}

uint64_t dlb_task_hash(const struct dlb_plan *plan, const struct dlb_task *task)
{
    json_t *config = dlb_task_config(plan, task);
    char *text = dlb_mem_check(json_dumps(config, JSON_COMPACT | JSON_SORT_KEYS));
    uint64_t hash = dlb_hash64(text, strlen(text), 0);
    free(text);
    json_decref(config);
    return hash;
}

struct dlb_reps *dlb_task_reps(struct dlb_results *results, const struct dlb_task *task)
{
    switch (task->kind) {
    case DLB_TASK_WARM:
        return &results->warm;
    case DLB_TASK_REFERENCE:
        return &results->reference;
    case DLB_TASK_CELL:
        return &results->cells[task->index];
    case DLB_TASK_CEILING:
        return &results->ceilings[task->index];
    case DLB_TASK_IN_C:
        return &results->in_c;
    case DLB_TASK_BASELINE:
        break;
    }
    return &results->baseline;
}

enum dlb_cell_mode dlb_task_mode(const struct dlb_plan *plan, const struct dlb_task *task)
{
    if (task->kind == DLB_TASK_CEILING && task->index < plan->n_resident)
        return DLB_MODE_CEILING;
    return task->kind == DLB_TASK_WARM       ? DLB_MODE_WARM
           : task->kind == DLB_TASK_BASELINE ? DLB_MODE_BASELINE
                                             : DLB_MODE_MEASURE;
}

double dlb_task_batches(const struct dlb_plan *plan, const struct dlb_task *task,
                        uint64_t n_samples)
{
    const struct dlb_spec *spec = dlb_task_spec(plan, task);
    return spec && task->kind != DLB_TASK_WARM ? dlb_plan_batches(spec, n_samples) : (double)NAN;
}
