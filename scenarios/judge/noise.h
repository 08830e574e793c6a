/* What others disturbed, and how large a loss the repetitions can tell.
 *
 * Floor 4, private to scenarios/judge. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOISE_H
#define DLB_SCENARIOS_JUDGE_NOISE_H

#include "core/measure/noise.h"
#include "core/measure/verdict.h"
#include "scenarios/scenario.h"

/* Of one cell: how many runs were disturbed and repeated, why, and its rate as measured (over every
 * run) and without the disturbed ones. New reference. */
json_t *dlb_noise_cell_json(const struct dlb_reps *reps);

/* Of the judged cells, also of those that do other work: repetitions of one cell do the same. What
 * is not judged has a scatter of its own. */
void dlb_noise_of_cells(const struct dlb_judgement *judgement, struct dlb_noise *out);

/* Fills noise_floor_frac and too_busy; `noise` is of the cells. If too_busy, takes the
 * recommendation back and says so. After dlb_recommend, before dlb_judge_settings.
 *
 * A sweep may be undecided because its cells are alike, and then its best cell is as good as the
 * others; or because of the machine. It is too busy to tell
 *
 *  - if the floor is above DLB_NOISE_FLOOR_MAX and a cell is no further from the best than it: the
 *    best may lose to that one what the verdict would warn of, and it would not show. Three blocks
 *    have such a floor from a noise of 6% of a run on, twelve from one of 13%;
 *  - if a decision between equal cells would take more than DLB_RACE_BLOCKS_MAX blocks, as it does
 *    from a noise of 9% on, and no cell is further from the best than the most distant of as many
 *    equal ones (the floor, widened from one pair to all: Bonferroni).
 *
 * Without a race repetitions are few because the user wanted few: the first then asks for noise of
 * the second, and for a pair whose own interval reaches DLB_NOISE_FLOOR_MAX; the second holds for
 * any floor above the tolerance, without the widening. A race that has decided has told.
 * docs/measurement.md has the simulation, tests/unit/test_race_judged.c repeats it. */
#define DLB_NOISE_FLOOR_MAX DLB_SHARE_WARN
void dlb_noise_judge(const struct dlb_plan *plan, const struct dlb_noise *noise,
                     struct dlb_judgement *judgement);

/* The cells that lose less than the noise floor to the best, which is not among them: none of these
 * is ranked above another. New reference. */
json_t *dlb_noise_tied_json(const struct dlb_judgement *judgement);

/* Notes how many runs were disturbed, and by what. */
void dlb_noise_note(const struct dlb_results *results, json_t *notes);

#endif
