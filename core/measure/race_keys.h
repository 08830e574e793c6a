/* Which keys make no difference, at the end of a race.
 *
 * Floor 1, private to the race. Control thread: allocates with core/base/mem.h. Pure. */
#ifndef DLB_CORE_MEASURE_RACE_KEYS_H
#define DLB_CORE_MEASURE_RACE_KEYS_H

#include "core/measure/race.h"

/* Fills race->base and race->keys. draws: [n_draws][n_cells] how far each cell is behind the best,
 * in ln rate; in: [n_cells] the cells that have draws. */
void dlb_race_judge_keys(struct dlb_race *race, const double *draws, uint32_t n_draws,
                         const bool *in);

#endif
