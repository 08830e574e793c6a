#include "scenarios/plan/in_c.h"

#include "core/base/mem.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/meaning.h"

#include <stdlib.h>

static bool has_own_code(const struct dlb_spec *spec)
{
    return spec->python.dataset[0] || spec->python.loader[0] || dlb_spec_format(spec)->elsewhere;
}

void dlb_plan_add_in_c(struct dlb_plan *plan, uint32_t cell, uint32_t n)
{
    const struct dlb_plan_cell *of = &plan->cells[cell];
    struct dlb_err ignored;

    if (plan->in_c.spec || !dlb_plan_is_torch(plan, cell) || has_own_code(of->spec) ||
        !of->spec->python.stamps)
        return;
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    *spec = *of->spec;
    spec->loader.kind = 0; /* auto */
    spec->transform.whole_decode = true;
    spec->device.step_ms = 0; /* its workers never wait for a step: they have no idle core to use */
    dlb_meaning_settle(spec, of->iterable);
    if (dlb_plan_check_cell(spec, of->iterable, &ignored) != DLB_OK) {
        free(spec);
        return;
    }
    plan->in_c = (struct dlb_plan_in_c){.spec = spec, .cell = cell};
    for (uint32_t i = 0; i < n; i++)
        dlb_plan_add_task(
            plan,
            (struct dlb_task){.kind = DLB_TASK_IN_C, .index = cell, .block = plan->n_blocks + i});
}
