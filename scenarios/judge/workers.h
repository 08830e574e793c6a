/* What other cells say of a cell's number of workers.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_WORKERS_H
#define DLB_SCENARIOS_JUDGE_WORKERS_H

#include "scenarios/scenario.h"

/* Fills more_workers, faster_workers and most_swept of the evidence of cells[at], from what was
 * measured with more workers than it has, and judged. Faster is what lies above its whole interval.
 */
void dlb_judge_workers(const struct dlb_plan *plan, const struct dlb_judged_cell *cells,
                       uint32_t at, struct dlb_evidence *evidence);

#endif
