/* The rungs with a pin thread. It receives batches from the workers and copies each to pinned
 * memory, from which the loop copies without blocking. PyTorch's allocator keeps pinned blocks;
 * here, too, there are only a few slots and they are reused. */
#include "core/base/futex.h"
#include "scenarios/gap/rungs/transport.h"

#include <pthread.h>
#include <string.h>

enum { N_PINNED = 3 };                /* one being filled, one waiting, one being copied */
#define CHECK_NS (50 * DLB_NS_PER_MS) /* how often a wait checks for an interrupt */

struct pinner {
    struct dlb_gap_transport transport;
    struct dlb_gap_run *run;
    struct dlb_gap_account *account;
    struct dlb_gap_memory slots;
    uint64_t slot_bytes;
    pthread_t thread;
    bool running;
    struct dlb_event go, pinned, freed;
    atomic_bool stop;
    _Atomic uint32_t epoch_number;      /* epochs that have begun */
    _Atomic uint64_t n_pinned, n_freed; /* batches of this epoch */
    _Atomic uint32_t done, failed; /* done: this epoch's account is closed; failed: err is filled */
    struct dlb_err err;
};

static uint64_t pinner_bytes(const struct dlb_gap_params *params)
{
    return dlb_gap_transport_bytes(params) + N_PINNED * (dlb_gap_batch_bytes(params) + 4096);
}

/* --- the pin thread --- */

static bool wait_for_slot(struct pinner *p, uint64_t batch)
{
    dlb_gap_begin(p->account);
    for (;;) {
        uint32_t seen = dlb_event_seq(&p->freed);
        if (atomic_load(&p->stop) || batch < atomic_load(&p->n_freed) + N_PINNED)
            break;
        dlb_event_wait(&p->freed, seen, UINT64_MAX);
    }
    dlb_gap_end(p->account, DLB_GAP_PART_wait);
    return !atomic_load(&p->stop);
}

static int pin_one(struct pinner *p, uint64_t batch, struct dlb_err *err)
{
    struct dlb_gap_received received;
    int rc = dlb_gap_transport_receive(&p->transport, p->account, batch, &received, err);

    if (rc == DLB_OK && !wait_for_slot(p, batch))
        rc = dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    if (rc != DLB_OK) {
        dlb_gap_unmap(&received.mapping);
        return rc;
    }
    dlb_gap_begin(p->account);
    memcpy(p->slots.addr + batch % N_PINNED * p->slot_bytes, received.data,
           received.n_rows * dlb_gap_row_bytes(p->run->params));
    dlb_gap_end(p->account, DLB_GAP_PART_pin);
    atomic_store(&p->n_pinned, batch + 1);
    dlb_event_signal(&p->pinned);
    return dlb_gap_transport_release(&p->transport, p->account, batch, &received, err);
}

static void pin_epoch(struct pinner *p)
{
    uint64_t n = dlb_gap_n_batches(p->run->params);
    struct dlb_err err;
    int rc = DLB_OK;

    dlb_gap_account_open(p->account);
    for (uint64_t b = 0; rc == DLB_OK && b < n; b++)
        rc = pin_one(p, b, &err);
    if (rc == DLB_OK)
        rc = dlb_gap_transport_end(&p->transport, p->account, &err);
    dlb_gap_account_close(p->account);
    if (rc != DLB_OK) {
        p->err = err;
        atomic_store(&p->failed, 1);
    }
    atomic_store(&p->done, 1);
    dlb_event_signal(&p->pinned);
}

static void *pinner_main(void *arg)
{
    struct pinner *p = arg;

    for (uint32_t done = 0;; done++) {
        for (;;) {
            uint32_t seen = dlb_event_seq(&p->go);
            if (atomic_load(&p->stop))
                return NULL;
            if (atomic_load(&p->epoch_number) > done)
                break;
            dlb_event_wait(&p->go, seen, UINT64_MAX);
        }
        pin_epoch(p);
    }
}

/* --- the loop --- */

static int prepare(struct dlb_gap_run *run, bool fresh, struct dlb_err *err)
{
    struct pinner *p = run->state;
    int rc = dlb_gap_transport_open(&p->transport, run, fresh, err);

    p->run = run;
    p->account = &run->ledger->account[1 + run->params->workers];
    p->slot_bytes = (dlb_gap_batch_bytes(run->params) + 4095) / 4096 * 4096;
    if (rc == DLB_OK)
        rc = dlb_gap_map(&p->slots, N_PINNED * p->slot_bytes, DLB_GAP_PRIVATE,
                         (enum dlb_gap_pages)run->params->pages, err);
    return rc == DLB_OK ? dlb_gap_populate(&p->slots, run->cancel, err) : rc;
}

static int prepare_fresh(struct dlb_gap_run *run, struct dlb_err *err)
{
    return prepare(run, true, err);
}

static int prepare_pooled(struct dlb_gap_run *run, struct dlb_err *err)
{
    return prepare(run, false, err);
}

static int start(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct pinner *p = run->state;
    int rc = dlb_gap_target_pin(&run->target, &p->slots, err);
    if (rc != DLB_OK)
        return rc;
    int code = pthread_create(&p->thread, NULL, pinner_main, p);
    if (code != 0)
        return dlb_fail(err, DLB_ERR_RUNG_THREAD, NULL, DLB_NO_OFFSET,
                        "starting the pin thread: %s", strerror(code));
    p->running = true;
    return DLB_OK;
}

/* Waits until the batch is pinned; for batch n, the epoch's end, until the pin thread is done. */
static int wait_for(struct pinner *p, uint64_t batch, struct dlb_err *err)
{
    bool end = batch == dlb_gap_n_batches(p->run->params);
    int rc = DLB_OK;

    dlb_gap_begin(p->run->loop);
    while (rc == DLB_OK) {
        uint32_t seen = dlb_event_seq(&p->pinned);
        if (atomic_load(&p->failed)) {
            *err = p->err;
            rc = (int)err->status;
            break;
        }
        if (end ? atomic_load(&p->done) != 0 : atomic_load(&p->n_pinned) > batch)
            break;
        dlb_event_wait(&p->pinned, seen, dlb_now_ns() + CHECK_NS);
        rc = dlb_gap_check(p->run, err);
    }
    dlb_gap_end(p->run->loop, end ? DLB_GAP_PART_end : DLB_GAP_PART_wait);
    return rc;
}

static int epoch(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct pinner *p = run->state;
    uint64_t n = dlb_gap_n_batches(run->params), first_put = run->target.n_put;
    int rc = dlb_gap_transport_begin(&p->transport, run, err);

    if (rc != DLB_OK)
        return rc;
    atomic_store(&p->n_pinned, 0);
    atomic_store(&p->n_freed, 0);
    atomic_store(&p->done, 0);
    atomic_fetch_add(&p->epoch_number, 1);
    dlb_event_signal(&p->go);
    for (uint64_t b = 0; rc == DLB_OK && b < n; b++) {
        rc = wait_for(p, b, err);
        if (rc == DLB_OK)
            rc = dlb_gap_deliver(run, p->slots.addr + b % N_PINNED * p->slot_bytes,
                                 dlb_gap_batch_rows(run->params, b), err);
        if (rc == DLB_OK && b > 0)
            rc = dlb_gap_target_copied(&run->target, first_put + b - 1, err);
        atomic_store(&p->n_freed, b);
        dlb_event_signal(&p->freed);
    }
    return rc == DLB_OK ? wait_for(p, n, err) : rc;
}

static void stop(struct dlb_gap_run *run)
{
    struct pinner *p = run->state;

    atomic_store(&p->stop, true);
    dlb_event_signal(&p->go);
    dlb_event_signal(&p->freed);
    if (p->running)
        (void)pthread_join(p->thread, NULL);
    dlb_gap_transport_close(&p->transport);
    dlb_gap_unmap(&p->slots);
}

const struct dlb_gap_rung dlb_gap_rung_pin_thread = {.state_bytes = sizeof(struct pinner),
                                                     .streams = 1,
                                                     .workers = true,
                                                     .pin_thread = true,
                                                     .fault_kind = DLB_GAP_SHARED,
                                                     .bytes = pinner_bytes,
                                                     .prepare = prepare_fresh,
                                                     .start = start,
                                                     .epoch = epoch,
                                                     .stop = stop};

const struct dlb_gap_rung dlb_gap_rung_pin_thread_pooled = {.state_bytes = sizeof(struct pinner),
                                                            .streams = 1,
                                                            .workers = true,
                                                            .pin_thread = true,
                                                            .fault_kind = DLB_GAP_SHARED,
                                                            .bytes = pinner_bytes,
                                                            .prepare = prepare_pooled,
                                                            .start = start,
                                                            .epoch = epoch,
                                                            .stop = stop};
