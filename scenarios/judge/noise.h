/* What others disturbed, and how large a loss the repetitions can tell.
 *
 * Floor 4, private to scenarios/judge. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOISE_H
#define DLB_SCENARIOS_JUDGE_NOISE_H

#include "core/measure/noise.h"
#include "scenarios/scenario.h"

/* Of one cell: how many runs were disturbed and repeated, why, and its rate as measured (over every
 * run) and without the disturbed ones. New reference. */
json_t *dlb_noise_cell_json(const struct dlb_reps *reps, uint64_t seed);

/* Of the cells that are compared: what is not judged has a scatter of its own. */
void dlb_noise_of_cells(const struct dlb_judgement *judgement, struct dlb_noise *out);

/* Fills noise_floor_frac and too_busy; `noise` is of the cells. If too_busy, takes the
 * recommendation back and says so. After dlb_recommend, before dlb_judge_settings. */
void dlb_noise_judge(const struct dlb_plan *plan, const struct dlb_noise *noise,
                     struct dlb_judgement *judgement);

/* The cells that lose less than the noise floor to the best, which is not among them: none of these
 * is ranked above another. New reference. */
json_t *dlb_noise_tied_json(const struct dlb_judgement *judgement);

/* Notes how many runs were disturbed, and by what. */
void dlb_noise_note(const struct dlb_results *results, json_t *notes);

#endif
