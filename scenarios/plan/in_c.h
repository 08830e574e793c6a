/* The same work in C: what PyTorch's workers do in a cell, by dlbench's own loader, with the cell's
 * settings and on the same cores. It tells how much of PyTorch's time a faster decoder, or a loader
 * that is not Python, could save.
 *
 * Floor 4. Control thread; pure. Work is the same where the cell loads what the configuration says
 * and not the user's own code, images are decoded whole, and as many bytes are delivered: the last
 * is known when both have run (scenarios/judge/in_c.h). */
#ifndef DLB_SCENARIOS_PLAN_IN_C_H
#define DLB_SCENARIOS_PLAN_IN_C_H

#include "scenarios/scenario.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends `n` runs of the cell's work in C, once in a plan's life. Appends nothing where there is
 * none: the cell is not PyTorch's, has the user's own code or no time stamps, or its work in C
 * cannot be done (plan->in_c.code, plan->in_c.why). Steps take no time, so that the workers never
 * wait for them. Blocks of their own. */
void dlb_plan_add_in_c(struct dlb_plan *plan, uint32_t cell, uint32_t n);

/* Before anything runs: where no cell that could be the answer has such work that can be done, sets
 * plan->in_c.code and plan->in_c.why. Settings, memory and batches are checked as those of a cell
 * (scenarios/plan/preflight.h). */
void dlb_plan_check_in_c(struct dlb_plan *plan);

#endif
