/* Where a rung's batches end: the device, or one buffer in this host's memory.
 *
 * Floor 4. The loop's thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_TARGET_H
#define DLB_SCENARIOS_GAP_RUNGS_TARGET_H

#include "core/base/err.h"
#include "core/measure/hist.h"
#include "loaders/device/device.h"
#include "scenarios/gap/rungs/ledger.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/rung.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_gap_target_state {
    const struct dlb_device *device; /* NULL: the buffer */
    void *state;
    char why[160], name[96];
    struct dlb_gap_memory buffer;
    uint32_t n_bufs, streams;
    bool pinned;               /* what is put */
    uint64_t n_put, n_stepped; /* batches so far; steps that are known to be done */
    struct dlb_hist copy_calls, sync_calls;
    const atomic_bool *cancel;
    struct dlb_gap_account *loop;
};

/* Batches that a target has room for. On one stream a second buffer is what lets the host go on. */
static inline uint32_t dlb_gap_target_bufs(const struct dlb_gap_params *params, uint32_t streams)
{
    return streams == 1 || params->device.prefetch < 1 ? 2 : (uint32_t)params->device.prefetch + 1;
}

/* `streams`: 1: copies and steps take turns on one stream, as in a training loop that calls .to();
 * 2: copies have their own and run device.prefetch batches ahead, at least one. */
int dlb_gap_target_open(struct dlb_gap_target_state *target, const struct dlb_gap_params *params,
                        uint32_t streams, struct dlb_err *err);
/* False: what runs on the device does not end, so nothing was closed: the memory that it copies
 * from must stay, and the process must leave by _exit. */
bool dlb_gap_target_close(struct dlb_gap_target_state *target);

/* Copies from there do not block from now on, where the target is a device. */
int dlb_gap_target_pin(struct dlb_gap_target_state *target, const struct dlb_gap_memory *memory,
                       struct dlb_err *err);

/* Copies a batch and starts its step. A copy from pageable memory on the one stream waits for the
 * step before, as it would inside of the call: here it is a sync call of its own. Memory that is
 * not pinned may be reused at once; pinned memory when dlb_gap_target_copied says so. */
int dlb_gap_target_put(struct dlb_gap_target_state *target, const void *batch, size_t n_bytes,
                       struct dlb_err *err);

/* Waits until the copy of put number `put` (0, 1, ...) is done. At most n_bufs puts may follow it.
 */
int dlb_gap_target_copied(struct dlb_gap_target_state *target, uint64_t put, struct dlb_err *err);

/* Waits until all steps are done. */
int dlb_gap_target_drain(struct dlb_gap_target_state *target, struct dlb_err *err);

/* {kind, name, why, emulated}; {count, ...} of calls. New references. */
json_t *dlb_gap_target_json(const struct dlb_gap_target_state *target);
json_t *dlb_gap_calls_json(const struct dlb_hist *calls);

#endif
