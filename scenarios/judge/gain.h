/* What cells would gain from data that are always ready: each repetition beside the
 * ceiling of its block.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_GAIN_H
#define DLB_SCENARIOS_JUDGE_GAIN_H

#include "scenarios/scenario.h"

/* Fills gain and ceiling_idle_frac of the evidence of each cell with a ceiling. The measured rate
 * is the one that cells are ranked by (dlb_rates_choose). */
void dlb_gains_fill(struct dlb_judged_cell *cells, uint32_t n_cells);

#endif
