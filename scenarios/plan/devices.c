#include "scenarios/plan/devices.h"

static void settle(struct dlb_spec *specs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (specs[i].device.kind == 0)
            specs[i].device.kind = dlb_device_emulated();
}

void dlb_plan_devices(struct dlb_plan *plan, bool several)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        several = several || (plan->cells[i].spec && plan->cells[i].spec->accelerators.count > 1);
    if (!several)
        return;
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (plan->cells[i].spec)
            settle(plan->cells[i].spec, 1);
    settle(plan->ceilings, plan->n_ceilings);
    settle(plan->warms, plan->n_warms);
    if (plan->base)
        settle(plan->base, 1);
}
