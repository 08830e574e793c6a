/* From what a run counted and stamped to its result.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_MEASURED_H
#define DLB_SCENARIOS_GAP_RUNGS_MEASURED_H

#include "scenarios/gap/rungs/run.h"
#include "scenarios/gap/rungs/rung_result.h"

struct dlb_gap_measured {
    const char *name;
    const struct dlb_gap_rung *rung;
    const struct dlb_gap_run *run;
    struct dlb_rung_start_up start_up;
    double array_huge_frac;
    struct dlb_gap_fault_cost batch_fault; /* in a batch's memory */
    struct dlb_gap_fault_cost own_fault;   /* in a process's own memory: private, small pages */
    uint64_t *wall_ns;                     /* [epochs] */
    uint8_t *ledgers;                      /* [epochs] copies of ledger_bytes */
    size_t ledger_bytes;
};

/* After an ok run, before its target is closed. Fills the result. */
void dlb_gap_measured_result(const struct dlb_gap_measured *measured,
                             struct dlb_rung_result *result);

#endif
