/* Compares a cell with cells that differ only in the number of workers.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_WORKERS_H
#define DLB_SCENARIOS_JUDGE_WORKERS_H

#include "scenarios/scenario.h"

/* Fills more_workers, faster_workers and most_swept of the evidence of j->cells[at], from judged
 * cells that have more workers. A cell is faster if its whole interval lies above that of
 * cells[at]. */
void dlb_judge_workers(const struct dlb_plan *plan, struct dlb_judgement *j, uint32_t at);

#endif
