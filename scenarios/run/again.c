#include "scenarios/run/again.h"

#include "scenarios/plan/plan.h"

struct count {
    uint32_t n_repeated, n_quiet;
};

/* Adds what became of repetitions that were measured again. */
static void count_reps(const struct dlb_reps *reps, struct count *count)
{
    for (uint32_t i = 0; i < reps->n + reps->n_passed; i++) {
        const struct dlb_cell_result *rep =
            i < reps->n ? &reps->rep[i] : &reps->passed[i - reps->n];
        count->n_repeated += rep->again > 0;
        count->n_quiet += rep->again > 0 && dlb_disturbed(&rep->loop.strain) == 0;
    }
}

static bool is_pointless(const struct dlb_results *results)
{
    struct count count = {0, 0};
    for (uint32_t i = 0; i < results->n_cells; i++)
        count_reps(&results->cells[i], &count);
    for (uint32_t i = 0; i < results->n_ceilings; i++)
        count_reps(&results->ceilings[i], &count);
    return dlb_again_is_pointless(count.n_repeated, count.n_quiet);
}

static uint32_t add(struct dlb_plan *plan, const struct dlb_again_of *of,
                    const struct dlb_reps *reps, struct dlb_task task)
{
    if (of->runs && !of->runs(of->ctx, &task))
        return 0;
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cell_result *rep = &reps->rep[i];
        if (rep->block != task.block || rep->status != DLB_REP_OK || rep->again >= DLB_AGAIN_MAX ||
            dlb_disturbed(&rep->loop.strain) == 0)
            continue;
        task.again = rep->again + 1;
        dlb_plan_add_task(plan, task);
        return 1;
    }
    return 0;
}

uint32_t dlb_again_add(struct dlb_plan *plan, const struct dlb_results *results,
                       const struct dlb_again_of *of, uint32_t at)
{
    uint32_t n_before = plan->n_tasks, n = 0, block = plan->tasks[at].block;
    if (is_pointless(results))
        return 0;
    for (uint32_t i = 0; i < plan->n_cells; i++)
        n += add(plan, of, &results->cells[i],
                 (struct dlb_task){.kind = DLB_TASK_CELL, .index = i, .block = block});
    for (uint32_t i = 0; i < plan->n_ceilings; i++)
        n += add(plan, of, &results->ceilings[i],
                 (struct dlb_task){.kind = DLB_TASK_CEILING, .index = i, .block = block});
    if (n > 0)
        dlb_plan_move_tasks(plan, n_before, at + 1);
    return n;
}
