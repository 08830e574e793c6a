/* Differences between the measurement and the training that will use the settings, as sentences.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_NOT_MODELLED_H
#define DLB_SCENARIOS_JUDGE_NOT_MODELLED_H

#include "scenarios/scenario.h"

/* Fills not_modelled, for the recommended cell, or for the best where none is recommended. */
void dlb_not_modelled_fill(const struct dlb_plan *plan, struct dlb_judgement *judgement);

#endif
