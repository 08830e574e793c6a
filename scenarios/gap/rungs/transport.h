/* Batches from forked workers, one sample at a time and stacked there: by new shared memory for
 * each batch, or by slots that are used again.
 *
 * Floor 4. Batch b comes from worker b mod W and is received in that order; each worker may have
 * PREFETCH batches under way. Workers are forked before the first epoch and stay
 * (persistent_workers), so that the two ways differ in memory and in nothing else. Fresh memory
 * goes as PyTorch's: a descriptor through a socket, mapped by the receiver, unmapped by both. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_TRANSPORT_H
#define DLB_SCENARIOS_GAP_RUNGS_TRANSPORT_H

#include "core/base/err.h"
#include "loaders/pool/forkserver.h"
#include "scenarios/gap/rungs/order.h"
#include "scenarios/gap/rungs/run.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_GAP_PREFETCH 2 /* PyTorch's prefetch_factor */

struct dlb_gap_failure; /* in shared memory: the first one of a worker's */

struct dlb_gap_transport {
    const struct dlb_gap_run *run;
    bool fresh;
    struct dlb_gap_order order;
    struct dlb_gap_memory slots; /* pooled: PREFETCH for each worker */
    uint64_t slot_bytes;
    struct dlb_gap_memory failure_memory;
    struct dlb_gap_failure *failure;
    int (*channel)[2]; /* [n_workers] receiver's end, worker's end */
    uint32_t n_workers;
    struct dlb_forkserver_how how;
    struct dlb_forkserver server;
    bool started;
};

/* Before the device exists. Close also what was not opened whole. */
int dlb_gap_transport_open(struct dlb_gap_transport *t, const struct dlb_gap_run *run, bool fresh,
                           struct dlb_err *err);
void dlb_gap_transport_close(struct dlb_gap_transport *t);

/* The order, and workers told to begin. By the loop. */
int dlb_gap_transport_begin(struct dlb_gap_transport *t, struct dlb_gap_run *run,
                            struct dlb_err *err);

struct dlb_gap_received {
    const void *data;
    uint64_t n_rows;
    struct dlb_gap_memory mapping; /* fresh: to be unmapped */
};

/* One thread receives all of an epoch's batches, in order, and gives each back; its account has the
 * parts wait, transport, free. Looks at the interrupt. */
int dlb_gap_transport_receive(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                              uint64_t batch, struct dlb_gap_received *out, struct dlb_err *err);
int dlb_gap_transport_release(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                              uint64_t batch, struct dlb_gap_received *received,
                              struct dlb_err *err);

/* Until all workers have closed their accounts: part end. By the same thread. */
int dlb_gap_transport_end(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                          struct dlb_err *err);

uint64_t dlb_gap_transport_bytes(const struct dlb_gap_params *params);

#endif
