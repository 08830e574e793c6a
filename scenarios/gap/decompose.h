/* Where torch-dataloader's time beyond torch-direct goes.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_GAP_DECOMPOSE_H
#define DLB_SCENARIOS_GAP_DECOMPOSE_H

#include "scenarios/gap/judgement.h"

/* Fills decomposed, total_seconds and part[] from the rungs. */
void dlb_gap_decompose(struct dlb_gap_judgement *j);

#endif
