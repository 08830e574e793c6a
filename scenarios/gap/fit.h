/* Fits the case into memory: how large the ladder may be on this machine.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_GAP_FIT_H
#define DLB_SCENARIOS_GAP_FIT_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/params.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_GAP_MIN_BATCHES 7 /* the published run's number; a case that shrinks keeps it */

/* Shrinks samples and batch size together until every rung fits into available_bytes, with at
 * least DLB_GAP_MIN_BATCHES batches. PyTorch's rungs count only with `torch`. `said`: how the
 * size was reduced, in words; "" if the case fits. DLB_E_NOMEM if DLB_GAP_MIN_BATCHES batches do
 * not fit. */
int dlb_gap_shrink(struct dlb_gap_params *params, uint64_t available_bytes, bool torch,
                   char said[256], struct dlb_err *err);

#endif
