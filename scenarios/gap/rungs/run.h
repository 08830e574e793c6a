/* What the rungs share while one of them runs.
 *
 * Floor 4. The loop's thread; a rung's own threads and processes only read it. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_RUN_H
#define DLB_SCENARIOS_GAP_RUNGS_RUN_H

#include "core/base/err.h"
#include "core/base/pulse.h"
#include "scenarios/gap/rungs/ledger.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/params.h"
#include "scenarios/gap/rungs/target.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_gap_run {
    const struct dlb_gap_params *params;
    const atomic_bool *cancel; /* may be NULL */
    struct dlb_pulse *pulse;   /* may be NULL */
    struct dlb_gap_memory array, ledger_memory;
    struct dlb_gap_ledger *ledger;
    struct dlb_gap_account *loop; /* the ledger's first */
    struct dlb_gap_target_state target;
    uint64_t epoch;    /* warm-up included */
    bool checksumming; /* in this epoch */
    uint64_t checksum; /* of what was handed to the target */
    void *state;       /* the rung's own; zeroed */
};

/* One rung: a const table in the file of its kind. `stop` is always called at the end, after the
 * device was closed: also after an error, and also when prepare was never called. */
struct dlb_gap_rung {
    size_t state_bytes;
    uint32_t streams; /* of the target */
    bool workers;     /* it uses params->workers of them */
    bool pin_thread;
    enum dlb_gap_sharing fault_kind;                        /* of a batch's memory */
    uint64_t (*bytes)(const struct dlb_gap_params *params); /* without array and target */
    /* Before the device exists: mappings, the fork server. May be NULL. */
    int (*prepare)(struct dlb_gap_run *run, struct dlb_err *err);
    /* After the device was opened: pinned memory, threads. May be NULL. */
    int (*start)(struct dlb_gap_run *run, struct dlb_err *err);
    int (*epoch)(struct dlb_gap_run *run, struct dlb_err *err); /* without the final drain */
    void (*stop)(struct dlb_gap_run *run);                      /* may be NULL */
};

static inline bool dlb_gap_cancelled(const struct dlb_gap_run *run)
{
    return run->cancel && atomic_load(run->cancel);
}

/* DLB_E_CANCELLED after an interrupt. */
int dlb_gap_check(const struct dlb_gap_run *run, struct dlb_err *err);

/* What every rung does with a batch: checks for an interrupt, adds to the checksum in the
 * checksummed epoch, copies, starts the step. */
int dlb_gap_deliver(struct dlb_gap_run *run, const void *batch, uint64_t n_rows,
                    struct dlb_err *err);

/* Notes once, in a first epoch that is not measured, which pages a full batch lies on. `epoch` is
 * the caller's: a worker process has no other. */
void dlb_gap_look_at_batch(const struct dlb_gap_run *run, uint64_t epoch,
                           const struct dlb_gap_memory *batch);

#endif
