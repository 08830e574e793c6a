/* A cell's rates: of its window, within epochs, and of the epoch that the user will run
 * (core/measure/pace.h); and what is known of the window's faults.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_RATES_H
#define DLB_SCENARIOS_JUDGE_RATES_H

#include "scenarios/scenario.h"

/* Fills cell->rates, evidence's shares and the window's faults from the repetitions that
 * cell->samples_per_s came from. n_stored: samples of the data set; 0: not known. */
void dlb_rates_fill(const struct dlb_plan_cell *planned, uint64_t n_stored,
                    const struct dlb_reps *reps, struct dlb_judged_cell *cell);

/* Sets j->ranked_by, the rate of each cell that is compared, and evidence's shares to those of the
 * same time. of_race: the rate that a race
 * compares by; DLB_N_RATES: none. */
void dlb_rates_choose(enum dlb_rate_kind of_race, struct dlb_judgement *j);

#endif
