/* What device.kind = "auto" means where cells have several accelerators.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_PLAN_DEVICES_H
#define DLB_SCENARIOS_PLAN_DEVICES_H

#include "scenarios/plan/plan.h"

/* One process drives one GPU. If a cell has several accelerators, or a later one will (`several`),
 * "auto" becomes the emulated device in all cells, ceilings and warm passes: cells of one plan are
 * compared with each other. A kind that was named stays, and is refused later. */
void dlb_plan_devices(struct dlb_plan *plan, bool several);

#endif
