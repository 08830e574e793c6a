/* From what the repetitions of each rung measured to a judgement of the ladder.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_GAP_JUDGE_H
#define DLB_SCENARIOS_GAP_JUDGE_H

#include "scenarios/gap/judgement.h"
#include "scenarios/scenario.h"

/* Judges the results so far. The judgement borrows from the plan; free it. */
void dlb_gap_judge(const struct dlb_plan *plan, const struct dlb_results *results,
                   const struct dlb_gap_setting *setting, struct dlb_gap_judgement *out);

#endif
