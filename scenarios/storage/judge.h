/* From a storage plan's results to summary.json's `storage`, and the words.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_STORAGE_JUDGE_H
#define DLB_SCENARIOS_STORAGE_JUDGE_H

#include "core/base/err.h"
#include "scenarios/scenario.h"

/* The cells are judged already (dlb_judge_cells). Fills storage; best becomes the cell of N, and
 * recommended, too, if that cell is judged. text says what N is and what limits it. */
void dlb_storage_judge(const struct dlb_plan *plan, const struct dlb_results *results,
                       struct dlb_judgement *judgement);

#endif
