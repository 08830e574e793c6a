/* Batches from forked workers, which fetch samples one by one and stack them: in new shared memory
 * for each batch, or in slots that are reused.
 *
 * Floor 4. Worker b mod W makes batch b, and batches are received in order; each worker may have
 * PREFETCH batches in progress. Workers are forked before the first epoch and stay
 * (persistent_workers), so the two variants differ only in memory. Fresh memory travels as in
 * PyTorch: its descriptor goes through a socket, the receiver maps it, and both unmap it. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_TRANSPORT_H
#define DLB_SCENARIOS_GAP_RUNGS_TRANSPORT_H

#include "core/base/err.h"
#include "loaders/pool/forkserver.h"
#include "scenarios/gap/rungs/order.h"
#include "scenarios/gap/rungs/run.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_GAP_PREFETCH 2 /* PyTorch's prefetch_factor */

struct dlb_gap_failure; /* in shared memory: the first failure of any worker */

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

/* Before the device exists. Close it also after a failed open. */
int dlb_gap_transport_open(struct dlb_gap_transport *t, const struct dlb_gap_run *run, bool fresh,
                           struct dlb_err *err);
void dlb_gap_transport_close(struct dlb_gap_transport *t);

/* Called by the loop: makes the order and tells workers to begin. */
int dlb_gap_transport_begin(struct dlb_gap_transport *t, struct dlb_gap_run *run,
                            struct dlb_err *err);

struct dlb_gap_received {
    const void *data;
    uint64_t n_rows;
    struct dlb_gap_memory mapping; /* fresh: to be unmapped */
};

/* One thread receives all batches of an epoch in order and releases each. Its account gets the
 * parts wait, transport and free. Both check for an interrupt. */
int dlb_gap_transport_receive(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                              uint64_t batch, struct dlb_gap_received *out, struct dlb_err *err);
int dlb_gap_transport_release(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                              uint64_t batch, struct dlb_gap_received *received,
                              struct dlb_err *err);

/* Waits until all workers have closed their accounts (part end). Called by the same thread. */
int dlb_gap_transport_end(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                          struct dlb_err *err);

uint64_t dlb_gap_transport_bytes(const struct dlb_gap_params *params);

#endif
