/* Which swept settings make no difference, and which of these need not be set.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_NO_DIFFERENCE_H
#define DLB_SCENARIOS_JUDGE_NO_DIFFERENCE_H

#include "core/measure/noise.h"
#include "scenarios/scenario.h"

/* Of a sweep, once its cells are compared; `noise` is of its cells. A key makes no difference at
 * the recommended cell, or at the best where none is recommended, if no value of it, all else
 * equal, changes the rate by sweep.tolerance. Each value must be measured and judged. A race has
 * the probability (DLB_RACE_SAME at least); without one, the 95% interval of each pair lies within
 * the tolerance.
 *
 * Left out of what is pasted are those whose default is one of the measured values. A value that
 * this changes is only one: more were not compared together. What decides which samples the
 * training gets, and the number of workers, stay.
 *
 * Fills no_difference and left_out, and adds to text. */
void dlb_no_difference_find(const struct dlb_plan *plan, const struct dlb_noise *noise,
                            struct dlb_judgement *j);

#endif
