#include "loaders/pool/pool.h"

#include "core/base/clock.h"
#include "core/host/osacct.h"
#include "loaders/pool/limits.h"
#include "loaders/worker/plant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In order, what devices hold was delivered by all workers in turn; in any order one may have
 * delivered it all. */
static uint32_t n_slots_each(const struct dlb_job *job)
{
    const struct dlb_loader_opts *opts = job->opts;
    uint32_t held = 1 + job->device_prefetch;
    uint32_t among = opts->order == DLB_ORDER_ANY ? 1 : (uint32_t)opts->num_workers;
    return (uint32_t)opts->prefetch_factor + held + (job->n_others * held + among - 1) / among;
}

int dlb_pool_open(struct dlb_pool *pool, const struct dlb_job *job, bool across_processes,
                  struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = job->opts;
    struct dlb_sampler_opts order = {.seed = job->seed,
                                     .rank = job->rank,
                                     .world = job->world,
                                     .batch_size = (uint32_t)opts->batch_size,
                                     .shuffle = opts->shuffle,
                                     .drop_last = opts->drop_last,
                                     .order = job->order};

    *pool = (struct dlb_pool){.job = job,
                              .n_workers = (uint32_t)opts->num_workers,
                              .pin_thread = opts->pin_memory && opts->pin_mode == DLB_PIN_THREAD,
                              .any_order = opts->order == DLB_ORDER_ANY,
                              .fresh = opts->transport == DLB_TRANSPORT_FRESH,
                              .across_processes = across_processes};
    pool->slots_per_worker = n_slots_each(job);
    if (pool->slots_per_worker >= DLB_RING_CAP)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%u slots per worker, %d is the most: lower loader.prefetch_factor, "
                        "device.prefetch or, with shared workers, accelerators.count",
                        pool->slots_per_worker, DLB_RING_CAP - 1);
    uint32_t n_slots = pool->n_workers * pool->slots_per_worker;
    uint64_t max_bytes = job->dataset->max_payload_bytes;
    int rc = dlb_sampler_open(&pool->sampler, &job->dataset->shape, &order, across_processes, err);
    if (rc == DLB_OK && pool->any_order && pool->sampler.n_batches >= DLB_POOL_END)
        rc = dlb_fail(
            err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
            "loader.order = \"any\" numbers batches with 32 bits: raise loader.batch_size");
    if (rc == DLB_OK)
        rc = dlb_slots_open(&pool->slots, n_slots, order.batch_size, max_bytes, across_processes,
                            err);
    if (rc == DLB_OK && pool->pin_thread)
        rc = dlb_slots_open(&pool->pinned, n_slots, order.batch_size, max_bytes, across_processes,
                            err);
    if (rc == DLB_OK && pool->fresh)
        dlb_slots_small_pages(&pool->slots);
    if (rc == DLB_OK)
        rc = dlb_limits_memory(job, err);
    size_t head_bytes = (sizeof(struct dlb_pool_shared) + 63) & ~(size_t)63;
    if (rc == DLB_OK)
        rc = dlb_shm_create(&pool->shm, head_bytes + pool->n_workers * sizeof(struct dlb_lane),
                            across_processes, err);
    if (rc != DLB_OK)
        return rc;
    pool->shared = pool->shm.addr;
    pool->lanes = (struct dlb_lane *)(void *)((uint8_t *)pool->shm.addr + head_bytes);
    pool->active = calloc(pool->n_workers, sizeof *pool->active);
    pool->told_end = calloc(pool->n_workers, sizeof *pool->told_end);
    if (!pool->active || !pool->told_end)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "starting the worker pool");
    for (uint32_t w = 0; w < pool->n_workers; w++) {
        struct dlb_lane *lane = &pool->lanes[w];
        atomic_store(&lane->credits, (uint32_t)opts->prefetch_factor);
        for (uint32_t i = 0; i < pool->slots_per_worker; i++) {
            dlb_ring_push(&lane->free, w * pool->slots_per_worker + i);
            if (pool->pin_thread)
                dlb_ring_push(&lane->pinned_free, w * pool->slots_per_worker + i);
        }
    }
    return DLB_OK;
}

void dlb_pool_close(struct dlb_pool *pool)
{
    free(pool->active);
    free(pool->told_end);
    pool->active = pool->told_end = NULL;
    dlb_sampler_close(&pool->sampler);
    dlb_slots_close(&pool->slots);
    dlb_slots_close(&pool->pinned);
    dlb_shm_free(&pool->shm);
}

void dlb_pool_memory(const struct dlb_pool *pool, struct dlb_memory *out)
{
    const struct dlb_slots *from = pool->pin_thread ? &pool->pinned : &pool->slots;
    *out = (struct dlb_memory){.addr = from->payload.addr,
                               .n_bytes = from->payload.n_bytes,
                               .slots_bytes =
                                   pool->slots.payload.n_bytes + pool->pinned.payload.n_bytes,
                               .huge = from->payload.huge,
                               .shared = pool->across_processes};
}

/* Whose sleep a full slot ends. */
static struct dlb_event *after_full(struct dlb_pool *pool, struct dlb_lane *lane)
{
    return pool->pin_thread ? &pool->shared->to_pin : dlb_pool_ready(pool, lane);
}

/* A process that was killed may have taken the note that somebody sleeps and not have woken him:
 * here it is done in any case. */
static void wake(struct dlb_event *event)
{
    dlb_event_signal(event);
    dlb_futex_wake(&event->word);
}

static void wake_all(struct dlb_pool *pool)
{
    wake(&pool->shared->to_pin);
    wake(&pool->shared->any_ready);
    if (pool->job->ready)
        wake(pool->job->ready);
    for (uint32_t w = 0; w < pool->n_workers; w++) {
        wake(&pool->lanes[w].to_worker);
        wake(&pool->lanes[w].slot_freed);
        wake(&pool->lanes[w].to_consumer);
    }
}

/* Who comes first writes. A worker may be killed while it does: then whoever reports its death
 * takes its place. */
void dlb_pool_fail(struct dlb_pool *pool, uint32_t id, const struct dlb_err *err)
{
    struct dlb_pool_shared *shared = pool->shared;
    uint32_t taken = 0;

    if (!atomic_compare_exchange_strong(&shared->err_taken, &taken, id + 1) && taken != id + 1)
        return;
    if (atomic_load(&shared->failed) == 0) {
        shared->err = *err;
        atomic_store(&shared->failed, id + 1);
    }
    wake_all(pool);
}

void dlb_pool_where(const struct dlb_pool *pool, uint32_t id, char *text, size_t n_text, char *path,
                    size_t n_path)
{
    const struct dlb_worker_report *report = &pool->lanes[id].report;
    const struct dlb_dataset *ds = pool->job->dataset;
    uint64_t at = atomic_load_explicit(&report->at, memory_order_relaxed);
    uint64_t nth = atomic_load_explicit(&report->at_nth, memory_order_relaxed);

    path[0] = '\0';
    if (atomic_load_explicit(&report->at_since_ns, memory_order_relaxed) == 0) {
        (void)snprintf(text, n_text, "at no sample");
        return;
    }
    if (ds->shape.iterable)
        (void)snprintf(text, n_text, "at sample %llu of shard %llu", (unsigned long long)nth,
                       (unsigned long long)at);
    else
        (void)snprintf(text, n_text, "at sample %llu", (unsigned long long)at);
    if (ds->format->reader->whereabouts)
        ds->format->reader->whereabouts(ds->state, at, path, n_path);
}

bool dlb_pool_stopping(const struct dlb_pool *pool)
{
    return atomic_load_explicit(&pool->shared->stop, memory_order_relaxed) ||
           atomic_load_explicit(&pool->shared->failed, memory_order_relaxed) != 0;
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

/* Waits until the worker can take what it needs; false when everybody is to leave. */
static bool worker_wait(struct dlb_pool *pool, struct dlb_lane *lane, struct dlb_event *event,
                        bool (*take)(struct dlb_lane *, uint32_t *), uint32_t *out,
                        enum dlb_worker_stage stage)
{
    if (take(lane, out))
        return !dlb_pool_stopping(pool);
    uint64_t start_ns = dlb_now_ns();
    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (dlb_pool_stopping(pool))
            return false;
        if (take(lane, out))
            break;
        dlb_event_wait(event, seen, UINT64_MAX);
    }
    dlb_hist_add(&lane->report.meters.stage[stage], dlb_now_ns() - start_ns);
    return true;
}

/* Fresh memory is part of putting a batch together, as it is in torch's collate. */
static int renew(struct dlb_pool *pool, struct dlb_lane *lane, uint32_t slot, struct dlb_err *err)
{
    uint64_t start_ns = dlb_now_ns();
    int rc = dlb_slots_renew(&pool->slots, slot, err);
    dlb_hist_add(&lane->report.meters.stage[DLB_WS_COLLATE], dlb_now_ns() - start_ns);
    return rc;
}

/* One epoch of one worker; false when it is to leave. */
static bool work_epoch(struct dlb_pool *pool, struct dlb_worker *worker, struct dlb_err *err)
{
    struct dlb_lane *lane = &pool->lanes[worker->id];
    bool dealt = pool->any_order && !worker->shards;
    int rc = DLB_OK;

    for (uint64_t batch = worker->id; rc == DLB_OK; batch += pool->n_workers) {
        uint32_t slot = 0, task = 0;
        if (!dealt && !worker->shards && batch >= pool->sampler.n_batches)
            break;
        if (!worker_wait(pool, lane, &lane->to_worker, dealt ? take_task : take_credit, &task,
                         DLB_WS_WAIT_CREDIT))
            return false;
        if (dealt) {
            if (task == DLB_POOL_END)
                break;
            batch = task;
        }
        if (!worker_wait(pool, lane, &lane->slot_freed, take_slot, &slot, DLB_WS_WAIT_SLOT))
            return false;
        if (pool->fresh)
            rc = renew(pool, lane, slot, err);
        if (rc == DLB_OK)
            rc = dlb_worker_fill(worker, batch, &pool->slots, slot, err);
        if (rc == DLB_OK) {
            dlb_ring_push(&lane->full, slot);
            dlb_event_signal(after_full(pool, lane));
        } else {
            lane->held = slot + 1;
            atomic_fetch_add(&lane->credits, 1);
        }
    }
    if (rc == DLB_E_CANCELLED)
        return false;
    if (rc != DLB_OK && rc != DLB_END) {
        dlb_pool_fail(pool, worker->id, err);
        return false;
    }
    dlb_ring_push(&lane->full, DLB_POOL_END);
    dlb_event_signal(after_full(pool, lane));
    return true;
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static bool wait_for_epoch(struct dlb_pool *pool, struct dlb_lane *lane, uint64_t epoch)
{
    for (;;) {
        uint32_t seen = dlb_event_seq(&lane->to_worker);
        if (dlb_pool_stopping(pool))
            return false;
        if (atomic_load(&pool->shared->epoch_begun) > epoch)
            return true;
        dlb_event_wait(&lane->to_worker, seen, UINT64_MAX);
    }
}

/* What the kernel accounts to a worker's process alone; `before_bytes` of anonymous memory came
 * with the fork. */
static void account_process(struct dlb_lane *lane, uint64_t before_bytes)
{
    struct dlb_os_process own;
    uint64_t anon_bytes = dlb_os_anon_bytes();

    dlb_os_process(&own);
    dlb_os_process_add(&lane->report.os, &own);
    if (anon_bytes != DLB_NOT_MEASURED && before_bytes != DLB_NOT_MEASURED &&
        anon_bytes > before_bytes && anon_bytes - before_bytes > lane->report.private_bytes)
        lane->report.private_bytes = anon_bytes - before_bytes;
}

void dlb_pool_work(struct dlb_pool *pool, uint32_t id, uint64_t epoch, bool persistent)
{
    struct dlb_lane *lane = &pool->lanes[id];
    struct dlb_worker worker;
    struct dlb_err err = {0};
    struct dlb_os_thread os;
    uint64_t cpu_start_ns = thread_cpu_ns(), anon_bytes = 0;

    if (pool->across_processes) {
        atomic_store(&lane->pid, getpid());
        anon_bytes = dlb_os_anon_bytes();
    }
    int rc = dlb_worker_open(&worker, pool->job, &pool->sampler, id, pool->n_workers, &lane->report,
                             &err);

    worker.stop = &pool->shared->stop;
    if (rc == DLB_OK)
        rc = dlb_plant_init(&worker, &err);
    for (bool more = true; rc == DLB_OK && more; epoch++) {
        more = wait_for_epoch(pool, lane, epoch);
        if (!more)
            break;
        rc = dlb_worker_begin_epoch(&worker, epoch, &err);
        if (rc == DLB_OK)
            more = work_epoch(pool, &worker, &err) && persistent;
    }
    if (rc != DLB_OK)
        dlb_pool_fail(pool, id, &err);
    if (pool->across_processes)
        account_process(lane, anon_bytes);
    dlb_worker_close(&worker);
    lane->report.meters.cpu_ns += thread_cpu_ns() - cpu_start_ns;
    dlb_os_thread(0, &os);
    if (os.runqueue_ns == DLB_NOT_MEASURED || lane->report.runqueue_ns == DLB_NOT_MEASURED)
        lane->report.runqueue_ns = DLB_NOT_MEASURED;
    else
        lane->report.runqueue_ns += os.runqueue_ns;
}

void dlb_pool_dismiss(struct dlb_pool *pool)
{
    if (!pool->shared || pool->dismissed_ns != 0)
        return;
    pool->dismissed_ns = dlb_now_ns();
    atomic_store(&pool->shared->stop, true);
    wake_all(pool);
}

int dlb_pool_stop(struct dlb_pool *pool, uint64_t patience_ns, struct dlb_err *err)
{
    dlb_pool_dismiss(pool);
    if (!pool->pin_running)
        return DLB_OK;
    int code = dlb_thread_join(&pool->pin, pool->dismissed_ns + patience_ns);
    if (code != 0)
        return dlb_fail(err, DLB_ERR_WORKER, NULL, DLB_NO_OFFSET, "the pin thread does not end: %s",
                        dlb_thread_why(code));
    pool->pin_running = false;
    return DLB_OK;
}

void dlb_pool_stats(const struct dlb_pool *pool, struct dlb_loader_stats *out)
{
    out->order_wait_ns += pool->order_wait_ns;
    for (uint32_t w = 0; pool->lanes && w < pool->n_workers; w++)
        dlb_worker_report_merge(out, &pool->lanes[w].report);
    dlb_hist_merge(&out->workers.stage[DLB_WS_PIN], &pool->pin_hist);
}
