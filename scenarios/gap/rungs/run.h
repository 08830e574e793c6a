/* What the rungs of the in-memory ladder share while one of them runs.
 *
 * Floor 4, private to gap_*.c. The loop's thread, but for what a rung's own threads and processes
 * read of it. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_RUN_H
#define DLB_SCENARIOS_GAP_RUNGS_RUN_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/ledger.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/rung.h"
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
    bool checksumming; /* this epoch */
    uint64_t checksum; /* of what was handed to the target */
    void *state;       /* the rung's own; zeroed */
};

/* One rung: a const table, in the file that its kind has. Whatever fails, stop is called in the
 * end, when the device is closed, also for what never was prepared. */
struct dlb_gap_rung {
    size_t state_bytes;
    uint32_t streams; /* of the target */
    bool workers;     /* params->workers of them */
    bool pin_thread;
    /* Faults that the time of a batch's memory comes from. */
    enum dlb_gap_sharing fault_kind;
    uint64_t (*bytes)(const struct dlb_gap_params *params); /* beside array and target */
    /* Before the device exists: mappings, the fork server. May be NULL. */
    int (*prepare)(struct dlb_gap_run *run, struct dlb_err *err);
    /* When it does: pinned memory, threads. May be NULL. */
    int (*start)(struct dlb_gap_run *run, struct dlb_err *err);
    int (*epoch)(struct dlb_gap_run *run, struct dlb_err *err); /* without the final drain */
    void (*stop)(struct dlb_gap_run *run);                      /* may be NULL */
};

#define X(name, text, summary) extern const struct dlb_gap_rung dlb_gap_rung_##name;
#include "scenarios/gap/rungs/rungs.def"
#undef X

static inline bool dlb_gap_cancelled(const struct dlb_gap_run *run)
{
    return run->cancel && atomic_load(run->cancel);
}

/* DLB_E_CANCELLED once somebody asked for it. */
int dlb_gap_check(const struct dlb_gap_run *run, struct dlb_err *err);

static inline uint64_t dlb_gap_batch_rows(const struct dlb_gap_params *params, uint64_t batch)
{
    uint64_t size = (uint64_t)params->batch_size;
    uint64_t left = (uint64_t)params->samples - batch * size;
    return left < size ? left : size;
}

/* The end that all rungs have: the interrupt heard, checksum where it is this epoch's turn, copy,
 * step. */
int dlb_gap_deliver(struct dlb_gap_run *run, const void *batch, uint64_t n_rows,
                    struct dlb_err *err);

/* Looks, once and in a first epoch that is not measured, what pages a full batch lies on. `epoch`:
 * of the caller, for a worker process knows no other. */
void dlb_gap_look_at_batch(const struct dlb_gap_run *run, uint64_t epoch,
                           const struct dlb_gap_memory *batch);

#endif
