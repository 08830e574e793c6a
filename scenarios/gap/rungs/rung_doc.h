/* What a rung measured, as JSON (scenarios/gap/rungs/rung.h says what).
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_RUNG_DOC_H
#define DLB_SCENARIOS_GAP_RUNGS_RUNG_DOC_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/run.h"

#include <jansson.h>

struct dlb_gap_facts {
    const char *name;
    const struct dlb_gap_rung *rung;
    const struct dlb_gap_run *run;
    double array_s, prepare_s, device_s, start_s;
    double array_huge_frac;
    struct dlb_gap_fault_cost batch_fault; /* in a batch's memory */
    struct dlb_gap_fault_cost own_fault;   /* in what a process has for itself: private, small */
    uint64_t *wall_ns;                     /* [epochs] */
    uint8_t *ledgers;                      /* [epochs] of ledger_bytes */
    size_t ledger_bytes;
};

/* New references; NULL when memory is short. */
json_t *dlb_gap_rung_json(const struct dlb_gap_facts *facts);
json_t *dlb_gap_failed_json(const char *name, int status, const struct dlb_err *err);

#endif
