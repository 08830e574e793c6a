/* The same work in C beside a cell of PyTorch's (scenarios/plan/in_c.h).
 *
 * Floor 4. Control thread; pure. Figures are medians over the runs, in nanoseconds a sample, of the
 * workers' wall-clock time: both loaders have as many workers on the same CPUs. */
#ifndef DLB_SCENARIOS_JUDGE_IN_C_H
#define DLB_SCENARIOS_JUDGE_IN_C_H

#include "scenarios/judge/judged.h"

#include <jansson.h>

/* cells[].in_c of the result; null for a cell beside which nothing ran. New reference. */
json_t *dlb_in_c_summary(const struct dlb_plan *plan, const struct dlb_results *results,
                         uint32_t cell, const struct dlb_cell_result *shown);

#endif
