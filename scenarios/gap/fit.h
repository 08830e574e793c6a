/* Fits the case into time and memory: how large the ladder may be on this machine.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_GAP_FIT_H
#define DLB_SCENARIOS_GAP_FIT_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/params.h"

#include <stdbool.h>
#include <stdint.h>

/* Seconds that the work takes here. */
struct dlb_gap_pace {
    double array_row_s; /* to make a row of the array */
    double row_s;       /* to take it and stack it in C: scenarios/gap/pace.h */
    double torch_row_s; /* the same by PyTorch's DataLoader; NaN without PyTorch */
    double import_s;    /* of torch */
};

#define DLB_GAP_DEFAULT_S 180 /* what a ladder may take whose size nobody asked for */

/* An estimate of the whole ladder. NaN if the pace is not known. */
double dlb_gap_seconds(const struct dlb_gap_params *params, int64_t repeats,
                       const struct dlb_gap_pace *pace);

/* Reduces the number of rows until the ladder takes about DLB_GAP_DEFAULT_S, and the batch with it
 * if `scale_batch`; else at least DLB_GAP_MIN_BATCHES batches stay. `said`: as dlb_gap_shrink's. */
void dlb_gap_fit_time(struct dlb_gap_params *params, bool scale_batch, int64_t repeats,
                      const struct dlb_gap_pace *pace, char said[256]);

#define DLB_GAP_MIN_BATCHES 7 /* the published run's number; a case that shrinks keeps it */

/* Shrinks samples and batch size together until every rung fits into available_bytes, with at
 * least DLB_GAP_MIN_BATCHES batches. PyTorch's rungs count only with `torch`. `said`: how the
 * size was reduced, in words; "" if the case fits. DLB_E_NOMEM if DLB_GAP_MIN_BATCHES batches do
 * not fit. */
int dlb_gap_shrink(struct dlb_gap_params *params, uint64_t available_bytes, bool torch,
                   char said[256], struct dlb_err *err);

#endif
