/* The cells of a grid as the race's model sees them (core/measure/race.h).
 *
 * Floor 4. Control thread: allocates with core/base/mem.h. Pure. */
#ifndef DLB_SCENARIOS_PLAN_FACTORS_H
#define DLB_SCENARIOS_PLAN_FACTORS_H

#include "scenarios/scenario.h"

/* Fills rank[n_cells]: 0 for the smallest, with the fewest workers, then the least slot memory,
 * then the lowest number. Cells that do not run are the largest. */
void dlb_factors_ranks(const struct dlb_plan *plan, uint32_t *rank);

/* Fills levels[n_grid][axes.n]: which value of each axis the cell has, from 0. Where the option has
 * no meaning for the cell, that is a value of its own. */
void dlb_factors_levels(const struct dlb_plan *plan, uint32_t *levels);

#endif
