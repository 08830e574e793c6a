/* The rung of a loader as it could be: threads shuffle and gather straight into pinned slots that
 * are reused, and copies run ahead of the steps.
 *
 * Work is divided into buckets of the permutation (scenarios/gap/rungs/permutation.h). A thread
 * that takes a bucket shuffles it while it is in the core's cache and gathers its rows to their
 * places. So all threads fill one batch together, the first batch is ready early, and the order
 * needs no pass of its own. A batch is ready when all its rows have arrived. */
#include "core/base/futex.h"
#include "core/base/mem.h"
#include "scenarios/gap/rungs/gather.h"
#include "scenarios/gap/rungs/permutation.h"
#include "scenarios/gap/rungs/run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_NS (50 * DLB_NS_PER_MS) /* how often a wait checks for an interrupt */

struct gatherer {
    struct filler *filler;
    struct dlb_gap_account *account;
    pthread_t thread;
};

struct filler {
    const struct dlb_gap_run *run;
    struct dlb_gap_permutation permutation;
    struct dlb_gap_memory slots;
    uint64_t slot_bytes, row_bytes;
    uint32_t n_slots, n_threads, n_running;
    struct gatherer *gatherer;
    pthread_barrier_t together;
    bool has_barrier;
    struct dlb_event go, ready, freed;
    atomic_bool stop;
    _Atomic uint32_t epoch_number; /* epochs that have begun */
    _Atomic uint32_t next_count, next_deal, next_bucket, n_busy;
    _Atomic uint64_t n_freed; /* batches of this epoch whose slots may be filled again */
    _Atomic uint64_t *n_rows; /* [n_batches] rows that have arrived */
};

static uint32_t slots_of(const struct dlb_gap_params *params)
{
    uint64_t wanted =
        dlb_gap_target_bufs(params, 2) + 1; /* those being copied, and one being filled */
    uint64_t n = dlb_gap_n_batches(params);
    return (uint32_t)(n < wanted ? n : wanted);
}

static uint64_t whole_pages(uint64_t n_bytes)
{
    return (n_bytes + 4095) / 4096 * 4096;
}

static uint64_t filler_bytes(const struct dlb_gap_params *params)
{
    return slots_of(params) * whole_pages(dlb_gap_batch_bytes(params)) +
           (uint64_t)params->samples * sizeof(uint32_t);
}

static bool leaving(const struct filler *f)
{
    return atomic_load(&f->stop) || dlb_gap_cancelled(f->run);
}

/* --- a gathering thread --- */

static void deal_out(struct filler *f, struct dlb_gap_account *account, _Atomic uint32_t *next,
                     void (*step)(struct dlb_gap_permutation *p, uint32_t block))
{
    dlb_gap_begin(account);
    for (;;) {
        uint32_t block = atomic_fetch_add(next, 1);
        if (block >= f->permutation.n_blocks || leaving(f))
            break;
        step(&f->permutation, block);
    }
    dlb_gap_end(account, DLB_GAP_PART_permutation);
}

/* Waits for all threads; true for one of them. */
static bool meet(struct filler *f, struct dlb_gap_account *account)
{
    dlb_gap_begin(account);
    /* NOLINTNEXTLINE(bugprone-posix-return): one of them is given -1, by another name */
    bool chosen = pthread_barrier_wait(&f->together) == PTHREAD_BARRIER_SERIAL_THREAD;
    dlb_gap_end(account, DLB_GAP_PART_wait);
    return chosen;
}

static void make_buckets(struct filler *f, struct dlb_gap_account *account)
{
    deal_out(f, account, &f->next_count, dlb_gap_permutation_count);
    if (meet(f, account)) {
        dlb_gap_begin(account);
        dlb_gap_permutation_sum(&f->permutation);
        dlb_gap_end(account, DLB_GAP_PART_permutation);
    }
    (void)meet(f, account);
    deal_out(f, account, &f->next_deal, dlb_gap_permutation_deal);
    (void)meet(f, account);
}

/* Waits until the slots of this batch and all before it are free; false: the thread should leave.
 * Threads that hold earlier rows never wait for later ones, so there is no deadlock. */
static bool wait_for_slot(struct filler *f, struct dlb_gap_account *account, uint64_t batch)
{
    if (batch < atomic_load(&f->n_freed) + f->n_slots)
        return true;
    dlb_gap_begin(account);
    for (;;) {
        uint32_t seen = dlb_event_seq(&f->freed);
        if (leaving(f) || batch < atomic_load(&f->n_freed) + f->n_slots)
            break;
        dlb_event_wait(&f->freed, seen, dlb_now_ns() + CHECK_NS);
    }
    dlb_gap_end(account, DLB_GAP_PART_wait);
    return !leaving(f);
}

/* Gathers positions from `at` on that belong to one batch; returns how many. 0: the thread should
 * leave. */
static uint64_t gather_some(struct filler *f, struct dlb_gap_account *account, uint64_t at,
                            uint64_t end)
{
    uint64_t size = (uint64_t)f->run->params->batch_size, batch = at / size;
    uint64_t batch_end = (batch + 1) * size;
    uint64_t n = (end < batch_end ? end : batch_end) - at;
    uint8_t *slot = f->slots.addr + batch % f->n_slots * f->slot_bytes;

    if (!wait_for_slot(f, account, batch))
        return 0;
    dlb_gap_begin(account);
    dlb_gap_gather_ahead(slot + (at - batch * size) * f->row_bytes, f->run->array.addr,
                         f->permutation.order + at, n, f->row_bytes);
    dlb_gap_end(account, DLB_GAP_PART_gather);
    if (atomic_fetch_add(&f->n_rows[batch], n) + n == dlb_gap_batch_rows(f->run->params, batch))
        dlb_event_signal(&f->ready);
    return n;
}

static void gather_buckets(struct filler *f, struct dlb_gap_account *account)
{
    while (!leaving(f)) {
        uint32_t bucket = atomic_fetch_add(&f->next_bucket, 1);
        if (bucket >= f->permutation.n_buckets)
            break;
        uint64_t at = f->permutation.begin[bucket], end = f->permutation.begin[bucket + 1];
        dlb_gap_begin(account);
        dlb_gap_permutation_shuffle(&f->permutation, bucket);
        dlb_gap_end(account, DLB_GAP_PART_permutation);
        for (uint64_t n = 1; at < end && n > 0; at += n)
            n = gather_some(f, account, at, end);
    }
}

static void *gatherer_main(void *arg)
{
    struct gatherer *self = arg;
    struct filler *f = self->filler;

    for (uint32_t done = 0;; done++) {
        for (;;) {
            uint32_t seen = dlb_event_seq(&f->go);
            if (atomic_load(&f->stop))
                return NULL;
            if (atomic_load(&f->epoch_number) > done)
                break;
            dlb_event_wait(&f->go, seen, UINT64_MAX);
        }
        dlb_gap_account_open(self->account);
        make_buckets(f, self->account);
        gather_buckets(f, self->account);
        dlb_gap_account_close(self->account);
        atomic_fetch_sub(&f->n_busy, 1);
        dlb_event_signal(&f->ready);
    }
}

/* --- the loop --- */

static int filler_prepare(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct filler *f = run->state;
    const struct dlb_gap_params *params = run->params;

    f->run = run;
    f->row_bytes = dlb_gap_row_bytes(params);
    f->slot_bytes = whole_pages(dlb_gap_batch_bytes(params));
    f->n_slots = slots_of(params);
    f->n_threads = (uint32_t)params->workers;
    f->gatherer = dlb_mem_array(f->n_threads, sizeof *f->gatherer);
    f->n_rows = calloc(dlb_gap_n_batches(params), sizeof *f->n_rows);
    if (!f->n_rows)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "allocating a counter for each batch");
    int rc = dlb_gap_permutation_open(&f->permutation, (uint32_t)params->samples,
                                      (uint64_t)params->seed, err);
    if (rc == DLB_OK)
        rc = dlb_gap_map(&f->slots, f->n_slots * f->slot_bytes, DLB_GAP_PRIVATE,
                         (enum dlb_gap_pages)params->pages, err);
    if (rc == DLB_OK)
        rc = dlb_gap_populate(&f->slots, run->cancel, err);
    return rc;
}

static int filler_start(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct filler *f = run->state;
    int rc = dlb_gap_target_pin(&run->target, &f->slots, err);
    if (rc != DLB_OK)
        return rc;
    f->has_barrier = pthread_barrier_init(&f->together, NULL, f->n_threads) == 0;
    for (uint32_t i = 0; f->has_barrier && i < f->n_threads; i++) {
        struct gatherer *g = &f->gatherer[i];
        *g = (struct gatherer){.filler = f, .account = &run->ledger->account[1 + i]};
        int code = pthread_create(&g->thread, NULL, gatherer_main, g);
        if (code != 0)
            return dlb_fail(err, DLB_ERR_RUNG_THREAD, NULL, DLB_NO_OFFSET,
                            "starting thread %u of %u: %s", i, f->n_threads, strerror(code));
        f->n_running++;
    }
    return f->has_barrier ? DLB_OK
                          : dlb_fail(err, DLB_ERR_RUNG_THREAD, NULL, DLB_NO_OFFSET,
                                     "making a barrier for threads");
}

static void begin_epoch(struct dlb_gap_run *run)
{
    struct filler *f = run->state;

    dlb_gap_begin(run->loop);
    dlb_gap_permutation_begin(&f->permutation, run->epoch);
    for (uint64_t b = 0; b < dlb_gap_n_batches(run->params); b++)
        atomic_store(&f->n_rows[b], 0);
    atomic_store(&f->next_count, 0);
    atomic_store(&f->next_deal, 0);
    atomic_store(&f->next_bucket, 0);
    atomic_store(&f->n_freed, 0);
    atomic_store(&f->n_busy, f->n_threads);
    atomic_fetch_add(&f->epoch_number, 1);
    dlb_event_signal(&f->go);
    dlb_gap_end(run->loop, DLB_GAP_PART_start);
}

/* Waits until the batch is complete; for batch n, the epoch's end, until all threads have closed
 * their accounts. */
static int wait_for_batch(struct dlb_gap_run *run, uint64_t batch, struct dlb_err *err)
{
    struct filler *f = run->state;
    bool end = batch == dlb_gap_n_batches(run->params);
    uint64_t n_rows = end ? 0 : dlb_gap_batch_rows(run->params, batch);
    int rc = DLB_OK;

    dlb_gap_begin(run->loop);
    while (rc == DLB_OK) {
        uint32_t seen = dlb_event_seq(&f->ready);
        if (end ? atomic_load(&f->n_busy) == 0 : atomic_load(&f->n_rows[batch]) == n_rows)
            break;
        dlb_event_wait(&f->ready, seen, dlb_now_ns() + CHECK_NS);
        rc = dlb_gap_check(run, err);
    }
    dlb_gap_end(run->loop, end ? DLB_GAP_PART_end : DLB_GAP_PART_wait);
    return rc;
}

static int filler_epoch(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct filler *f = run->state;
    uint64_t n = dlb_gap_n_batches(run->params), first_put = run->target.n_put;
    int rc = DLB_OK;

    begin_epoch(run);
    for (uint64_t b = 0; rc == DLB_OK && b < n; b++) {
        rc = wait_for_batch(run, b, err);
        if (rc == DLB_OK && b == 0)
            dlb_gap_look_at_batch(run, run->epoch, &f->slots);
        if (rc == DLB_OK)
            rc = dlb_gap_deliver(run, f->slots.addr + b % f->n_slots * f->slot_bytes,
                                 dlb_gap_batch_rows(run->params, b), err);
        if (rc == DLB_OK && b > 0)
            rc = dlb_gap_target_copied(&run->target, first_put + b - 1, err);
        atomic_store(&f->n_freed, b);
        dlb_event_signal(&f->freed);
    }
    return rc == DLB_OK ? wait_for_batch(run, n, err) : rc;
}

static void filler_stop(struct dlb_gap_run *run)
{
    struct filler *f = run->state;

    atomic_store(&f->stop, true);
    dlb_event_signal(&f->go);
    dlb_event_signal(&f->freed);
    for (uint32_t i = 0; i < f->n_running; i++)
        (void)pthread_join(f->gatherer[i].thread, NULL);
    if (f->has_barrier)
        (void)pthread_barrier_destroy(&f->together);
    dlb_gap_permutation_close(&f->permutation);
    dlb_gap_unmap(&f->slots);
    free(f->gatherer);
    free(f->n_rows);
    f->n_running = 0;
}

const struct dlb_gap_rung dlb_gap_rung_dlbench = {.state_bytes = sizeof(struct filler),
                                                  .streams = 2,
                                                  .workers = true,
                                                  .fault_kind = DLB_GAP_PRIVATE,
                                                  .bytes = filler_bytes,
                                                  .prepare = filler_prepare,
                                                  .start = filler_start,
                                                  .epoch = filler_epoch,
                                                  .stop = filler_stop};
