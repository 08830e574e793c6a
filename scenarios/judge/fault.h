/* What a run must satisfy before its speed means anything: each sample once, with its bytes.
 *
 * Floor 4, private to scenarios/judge. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_FAULT_H
#define DLB_SCENARIOS_JUDGE_FAULT_H

#include "scenarios/scenario.h"

#include <stdbool.h>
#include <stddef.h>

/* DLB_N_CODES: there is none. `reason` gets the fault. */
enum dlb_code dlb_fault_of(const struct dlb_plan_cell *planned, const struct dlb_cell_result *rep,
                           char *reason, size_t n_reason);

/* Repetitions of one cell see the same samples, where the seed does not decide them. */
bool dlb_reps_disagree(const struct dlb_plan_cell *planned, const struct dlb_reps *reps,
                       char *reason, size_t n_reason);

#endif
