#include "scenarios/gap/rungs/transport.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "loaders/pool/limits.h"
#include "scenarios/gap/rungs/channel.h"
#include "scenarios/gap/rungs/collate.h"
#include "scenarios/gap/rungs/transport_worker.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHECK_MS = 50 }; /* how often a wait checks for an interrupt and dead workers */
#define HARD_NS                                                                                    \
    (10 * DLB_NS_PER_S) /* a process that outlives SIGKILL that long is stuck in a system call */

uint64_t dlb_gap_transport_bytes(const struct dlb_gap_params *params)
{
    uint64_t batch_bytes = dlb_gap_batch_bytes(params), n = (uint64_t)params->workers;
    return dlb_gap_order_bytes(params) +
           n * (DLB_GAP_PREFETCH * (batch_bytes + 4096) +
                dlb_gap_collate_bytes((uint64_t)params->batch_size, dlb_gap_row_bytes(params)));
}

static void work(void *ctx, uint32_t id, uint64_t epoch)
{
    (void)epoch;
    dlb_gap_transport_work(ctx, id);
}

static void died(void *ctx, uint32_t id, pid_t pid, const char *what)
{
    struct dlb_gap_transport *t = ctx;
    struct dlb_err err;
    (void)dlb_fail(&err, DLB_ERR_RUNG_WORKER_DIED, NULL, DLB_NO_OFFSET, "worker %u (pid %d) %s", id,
                   (int)pid, what);
    dlb_gap_transport_fail(t->failure, &err);
}

static int open_channels(struct dlb_gap_transport *t, struct dlb_err *err)
{
    t->channel = dlb_mem_array(t->n_workers, sizeof *t->channel);
    for (uint32_t i = 0; i < t->n_workers; i++)
        t->channel[i][0] = t->channel[i][1] = -1;
    for (uint32_t i = 0; i < t->n_workers; i++)
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, t->channel[i]) != 0)
            return dlb_fail_errno(err, NULL, DLB_NO_OFFSET,
                                  "opening a channel to a worker of a rung");
    return DLB_OK;
}

static int open_slots(struct dlb_gap_transport *t, struct dlb_err *err)
{
    const struct dlb_gap_params *params = t->run->params;
    t->slot_bytes = (dlb_gap_batch_bytes(params) + 4095) / 4096 * 4096;
    int rc = dlb_gap_map(&t->slots, (uint64_t)t->n_workers * DLB_GAP_PREFETCH * t->slot_bytes,
                         DLB_GAP_SHARED, (enum dlb_gap_pages)params->pages, err);
    return rc == DLB_OK ? dlb_gap_populate(&t->slots, t->run->cancel, err) : rc;
}

int dlb_gap_transport_open(struct dlb_gap_transport *t, const struct dlb_gap_run *run, bool fresh,
                           struct dlb_err *err)
{
    const struct dlb_gap_params *params = run->params;
    struct dlb_loader_opts limits = {.num_workers = params->workers};

    *t = (struct dlb_gap_transport){
        .run = run, .fresh = fresh, .n_workers = (uint32_t)params->workers};
    int rc = dlb_limits_processes(&limits, err);
    if (rc == DLB_OK)
        rc = dlb_gap_order_open(&t->order, params, err);
    if (rc == DLB_OK)
        rc = dlb_gap_map(&t->failure_memory, sizeof *t->failure, DLB_GAP_SHARED,
                         DLB_GAP_PAGES_KERNEL, err);
    if (rc == DLB_OK && !fresh)
        rc = open_slots(t, err);
    if (rc == DLB_OK)
        rc = open_channels(t, err);
    if (rc != DLB_OK)
        return rc;
    t->failure = (struct dlb_gap_failure *)(void *)t->failure_memory.addr;
    for (uint32_t i = 0; i < t->n_workers; i++)
        run->ledger->account[1 + i].own_process = true;
    t->how = (struct dlb_forkserver_how){
        .n_workers = t->n_workers, .ctx = t, .work = work, .died = died};
    rc = dlb_forkserver_start(&t->server, &t->how, err);
    t->started = rc == DLB_OK;
    return rc == DLB_OK ? dlb_forkserver_spawn(&t->server, 0, err) : rc;
}

void dlb_gap_transport_close(struct dlb_gap_transport *t)
{
    struct dlb_err ignored;
    uint64_t now_ns = dlb_now_ns();

    if (t->started) /* workers have nothing to report: they are killed at once */
        dlb_forkserver_dismiss(&t->server, now_ns, now_ns + HARD_NS);
    (void)dlb_forkserver_stop(&t->server, &ignored);
    for (uint32_t i = 0; t->channel && i < t->n_workers; i++)
        for (int end = 0; end < 2; end++)
            if (t->channel[i][end] >= 0)
                (void)close(t->channel[i][end]);
    free(t->channel);
    dlb_gap_order_close(&t->order);
    dlb_gap_unmap(&t->slots);
    dlb_gap_unmap(&t->failure_memory);
    *t = (struct dlb_gap_transport){.run = NULL};
}

int dlb_gap_transport_begin(struct dlb_gap_transport *t, struct dlb_gap_run *run,
                            struct dlb_err *err)
{
    struct dlb_gap_message begin = {.word = DLB_GAP_BEGIN, .value = run->epoch};
    int rc = DLB_OK;

    dlb_gap_order_shuffle(&t->order, run->loop, run->epoch);
    dlb_gap_begin(run->loop);
    for (uint32_t i = 0; rc == DLB_OK && i < t->n_workers; i++)
        rc = dlb_gap_send(t->channel[i][0], &begin, -1, err);
    dlb_gap_end(run->loop, DLB_GAP_PART_start);
    return rc;
}

static int is_well(struct dlb_gap_transport *t, struct dlb_err *err)
{
    int rc = dlb_gap_check(t->run, err);
    if (rc == DLB_OK && atomic_load(&t->failure->told)) {
        *err = t->failure->err;
        return (int)err->status;
    }
    return rc == DLB_OK ? dlb_forkserver_check(&t->server, err) : rc;
}

static int wait_for(struct dlb_gap_transport *t, struct dlb_gap_account *account, uint32_t worker,
                    enum dlb_gap_part part, struct dlb_err *err)
{
    int rc = DLB_OK;
    dlb_gap_begin(account);
    while (rc == DLB_OK && !dlb_gap_readable(t->channel[worker][0], CHECK_MS))
        rc = is_well(t, err);
    dlb_gap_end(account, part);
    return rc;
}

int dlb_gap_transport_receive(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                              uint64_t batch, struct dlb_gap_received *out, struct dlb_err *err)
{
    const struct dlb_gap_params *params = t->run->params;
    uint32_t worker = (uint32_t)(batch % t->n_workers);
    struct dlb_gap_message message;
    int fd = -1, rc = wait_for(t, account, worker, DLB_GAP_PART_wait, err);

    *out = (struct dlb_gap_received){.n_rows = dlb_gap_batch_rows(params, batch)};
    if (rc != DLB_OK)
        return rc;
    dlb_gap_begin(account);
    rc = dlb_gap_receive(t->channel[worker][0], &message, &fd, err);
    if (rc == DLB_OK &&
        (message.word != DLB_GAP_BATCH || message.value != batch || (fd >= 0) != t->fresh))
        DLB_BUG("a worker sent a batch out of turn");
    if (rc == DLB_OK && t->fresh) {
        rc = dlb_gap_share_map(&out->mapping, fd, out->n_rows * dlb_gap_row_bytes(params),
                               (enum dlb_gap_pages)params->pages, err);
        out->data = out->mapping.addr;
    } else if (rc == DLB_OK) {
        uint64_t slot =
            (uint64_t)worker * DLB_GAP_PREFETCH + batch / t->n_workers % DLB_GAP_PREFETCH;
        out->data = t->slots.addr + slot * t->slot_bytes;
    }
    if (fd >= 0)
        (void)close(fd);
    dlb_gap_end(account, DLB_GAP_PART_transport);
    return rc;
}

int dlb_gap_transport_release(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                              uint64_t batch, struct dlb_gap_received *received,
                              struct dlb_err *err)
{
    struct dlb_gap_message credit = {.word = DLB_GAP_CREDIT};
    int rc = DLB_OK;

    if (received->mapping.addr) {
        dlb_gap_begin(account);
        dlb_gap_unmap(&received->mapping);
        dlb_gap_end(account, DLB_GAP_PART_free);
    }
    /* Only credits that will be used: one left over would count in the next epoch. */
    if (batch + (uint64_t)t->n_workers * DLB_GAP_PREFETCH >= dlb_gap_n_batches(t->run->params))
        return DLB_OK;
    dlb_gap_begin(account);
    rc = dlb_gap_send(t->channel[batch % t->n_workers][0], &credit, -1, err);
    dlb_gap_end(account, DLB_GAP_PART_transport);
    return rc;
}

int dlb_gap_transport_end(struct dlb_gap_transport *t, struct dlb_gap_account *account,
                          struct dlb_err *err)
{
    struct dlb_gap_message message;
    int fd, rc = DLB_OK;

    for (uint32_t i = 0; rc == DLB_OK && i < t->n_workers; i++) {
        rc = wait_for(t, account, i, DLB_GAP_PART_end, err);
        if (rc == DLB_OK)
            rc = dlb_gap_receive(t->channel[i][0], &message, &fd, err);
    }
    return rc;
}

/* --- the rungs without a pin thread --- */

static int prepare_fresh(struct dlb_gap_run *run, struct dlb_err *err)
{
    return dlb_gap_transport_open(run->state, run, true, err);
}

static int prepare_pooled(struct dlb_gap_run *run, struct dlb_err *err)
{
    return dlb_gap_transport_open(run->state, run, false, err);
}

static int epoch(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct dlb_gap_transport *t = run->state;
    struct dlb_gap_received received;
    uint64_t n = dlb_gap_n_batches(run->params);
    int rc = dlb_gap_transport_begin(t, run, err);

    for (uint64_t b = 0; rc == DLB_OK && b < n; b++) {
        rc = dlb_gap_transport_receive(t, run->loop, b, &received, err);
        if (rc == DLB_OK)
            rc = dlb_gap_deliver(run, received.data, received.n_rows, err);
        if (rc == DLB_OK)
            rc = dlb_gap_transport_release(t, run->loop, b, &received, err);
        else
            dlb_gap_unmap(&received.mapping);
    }
    return rc == DLB_OK ? dlb_gap_transport_end(t, run->loop, err) : rc;
}

static void stop(struct dlb_gap_run *run)
{
    dlb_gap_transport_close(run->state);
}

const struct dlb_gap_rung dlb_gap_rung_transport = {.state_bytes = sizeof(struct dlb_gap_transport),
                                                    .streams = 1,
                                                    .workers = true,
                                                    .fault_kind = DLB_GAP_SHARED,
                                                    .bytes = dlb_gap_transport_bytes,
                                                    .prepare = prepare_fresh,
                                                    .epoch = epoch,
                                                    .stop = stop};

const struct dlb_gap_rung dlb_gap_rung_transport_pooled = {.state_bytes =
                                                               sizeof(struct dlb_gap_transport),
                                                           .streams = 1,
                                                           .workers = true,
                                                           .fault_kind = DLB_GAP_SHARED,
                                                           .bytes = dlb_gap_transport_bytes,
                                                           .prepare = prepare_pooled,
                                                           .epoch = epoch,
                                                           .stop = stop};
