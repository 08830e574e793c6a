/* Where a rung's batches go: the device, or one buffer in this host's memory.
 *
 * Floor 4. The loop's thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_TARGET_H
#define DLB_SCENARIOS_GAP_RUNGS_TARGET_H

#include "core/base/err.h"
#include "core/measure/hist.h"
#include "loaders/device/device.h"
#include "scenarios/gap/rungs/ledger.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/params.h"
#include "scenarios/gap/rungs/rung_result.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_gap_target_state {
    const struct dlb_device *device; /* NULL: the buffer */
    void *state;
    char why[160], name[96];
    struct dlb_gap_memory buffer;
    uint32_t n_bufs, streams;
    bool pinned;               /* the memory that batches are put from */
    uint64_t n_put, n_stepped; /* batches so far; steps that are known to have finished */
    struct dlb_hist copy_calls, sync_calls;
    const atomic_bool *cancel;
    struct dlb_gap_account *loop;
};

/* Device buffers of a target. With one stream the second buffer lets the host continue while a step
 * runs. */
static inline uint32_t dlb_gap_target_bufs(const struct dlb_gap_params *params, uint32_t streams)
{
    return streams == 1 || params->device.prefetch < 1 ? 2 : (uint32_t)params->device.prefetch + 1;
}

/* `streams` = 1: copies and steps take turns on one stream, as in a training loop that calls .to().
 * 2: copies have a stream of their own and run device.prefetch batches ahead, at least one. */
int dlb_gap_target_open(struct dlb_gap_target_state *target, const struct dlb_gap_params *params,
                        uint32_t streams, struct dlb_err *err);
/* False: the device does not finish, so nothing was closed. The memory that it copies from must
 * stay mapped, and the process must leave by _exit. */
bool dlb_gap_target_close(struct dlb_gap_target_state *target);

/* Pins the memory; from then on copies from it to a device do not block. */
int dlb_gap_target_pin(struct dlb_gap_target_state *target, const struct dlb_gap_memory *memory,
                       struct dlb_err *err);

/* Copies a batch and starts its step. With one stream, a copy from pageable memory has to wait for
 * the step before it; that wait is counted as a sync call instead of a part of the copy call.
 * Memory that is not pinned may be reused at once; pinned memory after dlb_gap_target_copied. */
int dlb_gap_target_put(struct dlb_gap_target_state *target, const void *batch, size_t n_bytes,
                       struct dlb_err *err);

/* Waits until the copy of put number `put` (0, 1, ...) is done. At most n_bufs puts may follow it.
 */
int dlb_gap_target_copied(struct dlb_gap_target_state *target, uint64_t put, struct dlb_err *err);

/* Waits until all steps are done. */
int dlb_gap_target_drain(struct dlb_gap_target_state *target, struct dlb_err *err);

void dlb_gap_target_describe(const struct dlb_gap_target_state *target,
                             struct dlb_rung_device *out);
void dlb_gap_target_calls(const struct dlb_hist *calls, struct dlb_rung_calls *out);

#endif
