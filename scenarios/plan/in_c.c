#include "scenarios/plan/in_c.h"

#include "core/base/mem.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/preflight.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>
#include <stdlib.h>

static bool has_own_code(const struct dlb_spec *spec)
{
    return spec->python.dataset[0] || spec->python.loader[0] || dlb_spec_format(spec)->elsewhere;
}

static bool has_work(const struct dlb_plan *plan, uint32_t cell)
{
    return dlb_plan_is_torch(plan, cell) && !has_own_code(plan->cells[cell].spec) &&
           plan->cells[cell].spec->python.stamps;
}

/* The cell's work in C; NULL: it cannot be done. Owned by the caller. */
static struct dlb_spec *work_of(const struct dlb_plan *plan, uint32_t cell, struct dlb_err *err)
{
    const struct dlb_plan_cell *of = &plan->cells[cell];
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    *spec = *of->spec;
    spec->loader.kind = 0; /* auto */
    /* As PyTorch's data sets do: PIL decodes all of an image, soundfile the crop of a clip alone.
     */
    spec->transform.whole_decode = dlb_codecs[spec->dataset.codec]->images;
    spec->device.step_ms = 0; /* its workers never wait for a step: they have no idle core to use */
    dlb_meaning_settle(spec, of->iterable);
    struct dlb_plan_cell in_c = *of;
    struct dlb_spec checked = *spec;
    checked.transform.whole_decode = of->spec->transform.whole_decode; /* the data are the same */
    in_c.spec = &checked;
    if (dlb_plan_check_cell(spec, of->iterable, err) == DLB_OK &&
        dlb_preflight_cell(plan, &in_c, err) == DLB_OK)
        return spec;
    free(spec);
    return NULL;
}

static void keep_reason(struct dlb_plan *plan, const struct dlb_err *err)
{
    plan->in_c.code = err->code;
    (void)snprintf(plan->in_c.why, sizeof(plan->in_c.why), "%.300s", err->what);
}

void dlb_plan_add_in_c(struct dlb_plan *plan, uint32_t cell, uint32_t n)
{
    struct dlb_err err;

    if (plan->in_c.spec || !has_work(plan, cell))
        return;
    struct dlb_spec *spec = work_of(plan, cell, &err);
    if (!spec) {
        keep_reason(plan, &err);
        return;
    }
    plan->in_c = (struct dlb_plan_in_c){.spec = spec, .cell = cell};
    for (uint32_t i = 0; i < n; i++)
        dlb_plan_add_task(
            plan,
            (struct dlb_task){.kind = DLB_TASK_IN_C, .index = cell, .block = plan->n_blocks + i});
}

void dlb_plan_check_in_c(struct dlb_plan *plan)
{
    struct dlb_err err;
    uint32_t n = 0, n_done = 0;

    for (uint32_t i = 0; i < plan->n_cells && n_done == 0; i++) {
        if (plan->cells[i].skipped || !has_work(plan, i))
            continue;
        struct dlb_spec *spec = work_of(plan, i, &err);
        n++;
        n_done += spec != NULL;
        free(spec);
    }
    if (n > 0 && n_done == 0)
        keep_reason(plan, &err);
}
