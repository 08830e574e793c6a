/* How fast this machine runs the ladder: a short measurement of what its rungs spend their time on.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_GAP_PACE_H
#define DLB_SCENARIOS_GAP_PACE_H

#include "scenarios/gap/fit.h"
#include "scenarios/gap/rungs/params.h"

/* Takes some tens of milliseconds and 50 MB: fills an array, and takes its rows at random, each
 * into an allocation of its own. Sets the fields of C; without memory they are NaN. */
void dlb_gap_pace_measure(const struct dlb_gap_params *params, struct dlb_gap_pace *pace);

#endif
