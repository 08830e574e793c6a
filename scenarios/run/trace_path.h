/* Where a repetition of a traced cell leaves its timeline.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_RUN_TRACE_PATH_H
#define DLB_SCENARIOS_RUN_TRACE_PATH_H

#include "core/base/err.h"
#include "scenarios/cell/cell_result.h"

#include <limits.h>
#include <stdint.h>

/* In the run's scratch folder. DLB_ERR_SCRATCH_PATH_TOO_LONG. */
int dlb_trace_path(const char *scratch, uint32_t block, uint32_t again, char path[PATH_MAX],
                   struct dlb_err *err);

/* Removes the timelines of a block's repetitions up to `again` that a result cannot show: they
 * failed, or were measured again. */
void dlb_trace_drop(const char *scratch, const struct dlb_reps *reps, uint32_t block,
                    uint32_t again);

#endif
