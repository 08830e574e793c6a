/* The workers' side of the pool: take a credit and a slot, fill the slot, hand it on. */
#include "loaders/pool/pool.h"

#include "core/base/clock.h"
#include "core/host/osacct.h"
#include "loaders/worker/worker.h"

#include <unistd.h>

/* The event to signal for a slot that was filled. */
static struct dlb_event *after_full(struct dlb_pool_common *common, struct dlb_lane *lane)
{
    return common->pin_thread ? &common->shared->to_pin : dlb_pool_ready(common, lane);
}

static bool take_credit(struct dlb_lane *lane, uint32_t *unused)
{
    (void)unused;
    if (atomic_load_explicit(&lane->credits, memory_order_acquire) == 0)
        return false;
    atomic_fetch_sub_explicit(&lane->credits, 1,
                              memory_order_acq_rel); /* only its worker lowers it */
    return true;
}

static bool take_task(struct dlb_lane *lane, uint32_t *batch)
{
    return dlb_ring_pop(&lane->tasks, batch);
}

static bool take_slot(struct dlb_lane *lane, uint32_t *slot)
{
    if (lane->held == 0)
        return dlb_ring_pop(&lane->free, slot);
    *slot = lane->held - 1;
    lane->held = 0;
    return true;
}

/* To a view of the running process. */
static void show_waiting(const struct dlb_worker_setup *setup, uint64_t now_ns)
{
    if (setup->live)
        dlb_live_begin(&setup->live->waiting, now_ns);
}

static void show_waited(const struct dlb_worker_setup *setup, uint64_t ns)
{
    if (setup->live)
        dlb_live_end(&setup->live->waiting, ns);
}

/* Waits until `take` succeeds; false when the worker is to leave. */
static bool worker_wait(struct dlb_pool_common *common, const struct dlb_worker *worker,
                        struct dlb_event *event, bool (*take)(struct dlb_lane *, uint32_t *),
                        uint32_t *out, enum dlb_worker_stage stage)
{
    struct dlb_lane *lane = &common->lanes[worker->setup.id];
    if (take(lane, out))
        return !dlb_pool_stopping(common);
    uint64_t start_ns = dlb_now_ns();
    show_waiting(&worker->setup, start_ns);
    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (dlb_pool_stopping(common))
            return false;
        if (take(lane, out))
            break;
        dlb_event_wait(event, seen, UINT64_MAX);
    }
    uint64_t end_ns = dlb_now_ns();
    dlb_worker_meter(&worker->setup, stage, start_ns, end_ns);
    show_waited(&worker->setup, end_ns - start_ns);
    return true;
}

/* Counted as collate: in torch, too, collate is what allocates a batch's memory. */
static int renew(struct dlb_pool_common *common, const struct dlb_worker *worker, uint64_t batch,
                 uint32_t slot, struct dlb_err *err)
{
    uint64_t start_ns = dlb_now_ns();
    int rc = dlb_slots_renew(&common->slots, slot, err);
    dlb_trace_at_batch(worker->setup.trace, worker->epoch, batch);
    dlb_worker_meter(&worker->setup, DLB_WS_COLLATE, start_ns, dlb_now_ns());
    return rc;
}

/* Read once a batch; what it orders is nothing. */
static bool is_measuring(const struct dlb_pool_common *common)
{
    return atomic_load_explicit(&common->shared->measuring, memory_order_relaxed);
}

/* One epoch of one worker; false when the worker is to leave. */
static bool work_epoch(struct dlb_pool_common *common, struct dlb_worker *worker,
                       struct dlb_err *err)
{
    uint32_t id = worker->setup.id;
    struct dlb_lane *lane = &common->lanes[id];
    bool dealt = common->any_order && !worker->shards;
    int rc = DLB_OK;

    for (uint64_t batch = id; rc == DLB_OK; batch += common->n_workers) {
        uint32_t slot = 0, task = 0;
        if (!dealt && !worker->shards && batch >= common->sampler.n_batches)
            break;
        if (!worker_wait(common, worker, &lane->to_worker, dealt ? take_task : take_credit, &task,
                         DLB_WS_WAIT_CREDIT))
            return false;
        if (dealt) {
            if (task == DLB_POOL_END)
                break;
            batch = task;
        }
        if (!worker_wait(common, worker, &lane->slot_freed, take_slot, &slot, DLB_WS_WAIT_SLOT))
            return false;
        bool in_window = is_measuring(common);
        if (in_window != lane->report.in_window)
            dlb_worker_report_turn(&lane->report, in_window);
        if (common->fresh)
            rc = renew(common, worker, batch, slot, err);
        if (rc == DLB_OK)
            rc = dlb_worker_fill(worker, batch, &common->slots, slot, err);
        if (rc == DLB_OK) {
            dlb_ring_push(&lane->full, slot);
            dlb_event_signal(after_full(common, lane));
        } else {
            lane->held = slot + 1;
            atomic_fetch_add(&lane->credits, 1);
        }
    }
    if (rc == DLB_E_CANCELLED)
        return false;
    if (rc != DLB_OK && rc != DLB_END) {
        dlb_pool_fail(common, id, err);
        return false;
    }
    dlb_ring_push(&lane->full, DLB_POOL_END);
    dlb_event_signal(after_full(common, lane));
    return true;
}

static bool wait_for_epoch(struct dlb_pool_common *common, const struct dlb_worker_setup *setup,
                           uint64_t epoch)
{
    struct dlb_lane *lane = &common->lanes[setup->id];
    uint64_t start_ns = dlb_now_ns();
    show_waiting(setup, start_ns);
    for (;;) {
        uint32_t seen = dlb_event_seq(&lane->to_worker);
        if (dlb_pool_stopping(common))
            return false;
        if (atomic_load(&common->shared->epoch_begun) > epoch)
            break;
        dlb_event_wait(&lane->to_worker, seen, UINT64_MAX);
    }
    show_waited(setup, dlb_now_ns() - start_ns);
    return true;
}

/* What the kernel accounts to a worker process alone. `before_bytes` of its anonymous memory came
 * with the fork. */
static void account_process(struct dlb_worker_report *report, uint64_t before_bytes)
{
    struct dlb_os_process own;
    uint64_t anon_bytes = dlb_os_anon_bytes();

    dlb_os_process(&own);
    dlb_os_process_add(&report->os, &own);
    if (anon_bytes != DLB_NOT_MEASURED && before_bytes != DLB_NOT_MEASURED &&
        anon_bytes > before_bytes && anon_bytes - before_bytes > report->private_bytes)
        report->private_bytes = anon_bytes - before_bytes;
}

static struct dlb_live_worker *shown_at(const struct dlb_job *job, uint32_t id)
{
    struct dlb_live_worker *live =
        job->pulse ? dlb_live_worker(&job->pulse->live, job->first_worker + id) : NULL;
    if (!live)
        return NULL;
    uint64_t now_ns = dlb_now_ns();
    uint64_t left_ns = atomic_load_explicit(&live->waiting.since_ns, memory_order_relaxed);
    if (atomic_load_explicit(&live->began_ns, memory_order_relaxed) == 0)
        atomic_store_explicit(&live->began_ns, now_ns, memory_order_release);
    if (left_ns > 0) /* one of an earlier epoch has ended since then */
        dlb_live_end(&live->waiting, now_ns - left_ns);
    return live;
}

void dlb_pool_work(struct dlb_pool_common *common, uint32_t id, uint64_t epoch, bool persistent)
{
    struct dlb_lane *lane = &common->lanes[id];
    const struct dlb_worker_setup setup = {
        .job = common->job,
        .sampler = &common->sampler,
        .report = &lane->report,
        .stop = &common->shared->stop,
        .live = shown_at(common->job, id),
        .trace = dlb_trace_ring_of(common->job->trace, DLB_TRACK_WORKER, common->job->nth, id),
        .id = id,
        .n_workers = common->n_workers};
    struct dlb_worker worker;
    struct dlb_err err = {0};
    uint64_t anon_bytes = 0;

    dlb_worker_report_begin(&lane->report, is_measuring(common));
    if (common->across_processes) {
        atomic_store(&lane->pid, getpid());
        anon_bytes = dlb_os_anon_bytes();
    }
    int rc = dlb_worker_open(&worker, &setup, &err);
    for (bool more = rc == DLB_OK; more; epoch++) {
        more = wait_for_epoch(common, &setup, epoch);
        if (!more)
            break;
        dlb_worker_begin_epoch(&worker, epoch);
        more = work_epoch(common, &worker, &err) && persistent;
    }
    if (rc != DLB_OK)
        dlb_pool_fail(common, id, &err);
    if (common->across_processes)
        account_process(&lane->report, anon_bytes);
    dlb_worker_close(&worker);
    dlb_worker_report_end(&lane->report);
    show_waiting(&setup, dlb_now_ns()); /* for the epoch in which one follows it, if one does */
}
