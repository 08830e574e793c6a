/* Which rungs close the gap, in order of gain.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_GAP_CURES_H
#define DLB_SCENARIOS_GAP_CURES_H

#include "scenarios/gap/judgement.h"

/* Fills cure[]: none where torch-dataloader was not measured. */
void dlb_gap_find_cures(struct dlb_gap_judgement *j);

#endif
