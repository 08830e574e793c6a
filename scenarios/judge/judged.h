/* What judged cells say, one alone and two beside each other.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_JUDGED_H
#define DLB_SCENARIOS_JUDGE_JUDGED_H

#include "scenarios/scenario.h"

#define DLB_SEPARABLE_MIN_N 2 /* blocks that two cells must share before they are compared */

bool dlb_is_measured(const struct dlb_judged_cell *cell);

/* Whether the rate says something about the loader: status ok, and neither INCOMPLETE nor
 * HARNESS-BOUND. */
bool dlb_is_judged(const struct dlb_judged_cell *cell);

uint32_t dlb_judged_count(const struct dlb_judgement *j, enum dlb_cell_status status);

/* Bytes per sample times samples per second. Workers also read before the window and ahead of
 * it, so their bytes cannot be divided by the window's time. NaN without a window. */
double dlb_judged_read_bytes_per_s(const struct dlb_judged_cell *cell);

/* How much `cell` loses to `best` in the blocks that both have. */
struct dlb_estimate dlb_paired_loss(const struct dlb_judged_cell *cell,
                                    const struct dlb_judged_cell *best);

/* What `cell` loses to `best`: by the model where a race has one, else by medians. */
double dlb_judged_loss(const struct dlb_judged_cell *cell, const struct dlb_judged_cell *best);

#endif
