/* Runs one rung of the in-memory ladder in this process.
 *
 * Floor 4. Control thread, which becomes the training loop. The ladder (`dlbench gap`) starts a
 * fresh process for each repetition (`dlbench rung`); tests call it directly.
 *
 * All rungs read the same array, made from the seed, and end the same way: a batch is copied to the
 * device (or to one buffer of this host's memory) and the same step runs. An epoch lasts from its
 * first call until the device has finished its last step. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_RUNG_H
#define DLB_SCENARIOS_GAP_RUNGS_RUNG_H

#include "core/base/pulse.h"
#include "scenarios/gap/rungs/params.h"
#include "scenarios/gap/rungs/rung_result.h"

#include <stdatomic.h>
#include <stdint.h>

/* Names of the C rungs, in the ladder's order; ends with NULL. */
extern const char *const dlb_gap_rung_names[];

/* The most memory that a rung takes, the array included. 0 for a name that is not a C rung. */
uint64_t dlb_gap_rung_bytes(const struct dlb_gap_params *params, const char *name);

/* Runs it; `cancel` and `pulse`, which counts batches, may be NULL. Errors are in the result. Free
 * the result. */
void dlb_gap_rung_run(const struct dlb_gap_params *params, const char *name,
                      const atomic_bool *cancel, struct dlb_pulse *pulse,
                      struct dlb_rung_result *result);

#endif
