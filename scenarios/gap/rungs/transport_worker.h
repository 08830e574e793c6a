/* The worker process of the transport rungs: it works epoch after epoch until it is killed.
 *
 * Floor 4. The worker's process. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_TRANSPORT_WORKER_H
#define DLB_SCENARIOS_GAP_RUNGS_TRANSPORT_WORKER_H

#include "scenarios/gap/rungs/transport.h"

#include <stdatomic.h>
#include <stdint.h>

struct dlb_gap_failure {
    _Atomic uint32_t claimed, told; /* the first claimer writes err and then sets told */
    struct dlb_err err;
};

void dlb_gap_transport_fail(struct dlb_gap_failure *failure, const struct dlb_err *err);

/* Returns only after an error, which is then in t->failure. */
void dlb_gap_transport_work(const struct dlb_gap_transport *t, uint32_t id);

#endif
