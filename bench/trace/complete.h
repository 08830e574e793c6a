/* What the writers of a timeline could not know: which batch a worker of another program was at,
 * and which spans of a device and of that program lie within the measured window.
 *
 * Floor 5, private to bench/trace. Control thread. */
#ifndef DLB_BENCH_TRACE_COMPLETE_H
#define DLB_BENCH_TRACE_COMPLETE_H

#include "core/measure/timeline.h"

/* Fills in `batch`, `epoch` and `measured` of records. A worker's batch is known by the stamp of
 * its end, which went with the batch to the training loop. */
void dlb_trace_complete(struct dlb_timeline *timeline);

#endif
