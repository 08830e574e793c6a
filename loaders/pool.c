#include "loaders/pool.h"

#include "bench/base/clock.h"
#include "bench/host/osacct.h"

#include <stdlib.h>
#include <string.h>

int dlb_pool_open(struct dlb_pool *pool, const struct dlb_job *job, bool across_processes,
                  struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = job->opts;
    struct dlb_sampler_opts order = {.seed = job->seed,
                                     .rank = job->rank,
                                     .world = job->world,
                                     .batch_size = (uint32_t)opts->batch_size,
                                     .shuffle = opts->shuffle,
                                     .drop_last = opts->drop_last};

    *pool = (struct dlb_pool){.job = job,
                              .n_workers = (uint32_t)opts->num_workers,
                              .pin_thread = opts->pin_memory && opts->pin_mode == DLB_PIN_THREAD};
    pool->slots_per_worker = (uint32_t)opts->prefetch_factor + 1 + job->device_prefetch;
    if (pool->slots_per_worker >= DLB_RING_CAP)
        return dlb_fail(err, DLB_E_CONFIG, NULL, DLB_NO_OFFSET,
                        "prefetch_factor %u needs more than %d slots per worker",
                        (uint32_t)opts->prefetch_factor, DLB_RING_CAP - 1);
    uint32_t n_slots = pool->n_workers * pool->slots_per_worker;
    uint64_t max_bytes = job->dataset->max_payload_bytes;
    int rc = dlb_sampler_open(&pool->sampler, &job->dataset->shape, &order, across_processes, err);
    if (rc == DLB_OK)
        rc = dlb_slots_open(&pool->slots, n_slots, order.batch_size, max_bytes, across_processes,
                            err);
    if (rc == DLB_OK && pool->pin_thread)
        rc = dlb_slots_open(&pool->pinned, n_slots, order.batch_size, max_bytes, across_processes,
                            err);
    size_t head_bytes = (sizeof(struct dlb_pool_shared) + 63) & ~(size_t)63;
    if (rc == DLB_OK)
        rc = dlb_shm_create(&pool->shm, head_bytes + pool->n_workers * sizeof(struct dlb_lane),
                            across_processes, err);
    if (rc != DLB_OK)
        return rc;
    pool->shared = pool->shm.addr;
    pool->lanes = (struct dlb_lane *)(void *)((uint8_t *)pool->shm.addr + head_bytes);
    pool->active = calloc(pool->n_workers, sizeof *pool->active);
    if (!pool->active)
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
    pool->active = NULL;
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
                               .huge = from->payload.huge};
}

/* Whose sleep a full slot ends. */
static struct dlb_event *after_full(struct dlb_pool *pool, struct dlb_lane *lane)
{
    return pool->pin_thread ? &pool->shared->to_pin : &lane->to_consumer;
}

static void wake_all(struct dlb_pool *pool)
{
    dlb_event_signal(&pool->shared->to_pin);
    for (uint32_t w = 0; w < pool->n_workers; w++) {
        dlb_event_signal(&pool->lanes[w].to_worker);
        dlb_event_signal(&pool->lanes[w].slot_freed);
        dlb_event_signal(&pool->lanes[w].to_consumer);
    }
}

void dlb_pool_fail(struct dlb_pool *pool, uint32_t id, const struct dlb_err *err)
{
    if (atomic_fetch_add(&pool->shared->err_taken, 1) == 0) {
        pool->shared->err = *err;
        atomic_store(&pool->shared->failed, id + 1);
        wake_all(pool);
    }
}

static bool stopping(struct dlb_pool *pool)
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
        return !stopping(pool);
    uint64_t start_ns = dlb_now_ns();
    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (stopping(pool))
            return false;
        if (take(lane, out))
            break;
        dlb_event_wait(event, seen, UINT64_MAX);
    }
    dlb_hist_add(&lane->report.meters.stage[stage], dlb_now_ns() - start_ns);
    return true;
}

/* One epoch of one worker; false when it is to leave. */
static bool work_epoch(struct dlb_pool *pool, struct dlb_worker *worker, struct dlb_err *err)
{
    struct dlb_lane *lane = &pool->lanes[worker->id];
    int rc = DLB_OK;

    for (uint64_t batch = worker->id; rc == DLB_OK; batch += pool->n_workers) {
        uint32_t slot = 0;
        if (!worker->shards && batch >= pool->sampler.n_batches)
            break;
        if (!worker_wait(pool, lane, &lane->to_worker, take_credit, NULL, DLB_WS_WAIT_CREDIT) ||
            !worker_wait(pool, lane, &lane->slot_freed, take_slot, &slot, DLB_WS_WAIT_SLOT))
            return false;
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
        if (stopping(pool))
            return false;
        if (atomic_load(&pool->shared->epoch_begun) > epoch)
            return true;
        dlb_event_wait(&lane->to_worker, seen, UINT64_MAX);
    }
}

void dlb_pool_work(struct dlb_pool *pool, uint32_t id, uint64_t epoch, bool persistent)
{
    struct dlb_lane *lane = &pool->lanes[id];
    struct dlb_worker worker;
    struct dlb_err err = {0};
    struct dlb_os_thread os;
    uint64_t cpu_start_ns = thread_cpu_ns();
    int rc = dlb_worker_open(&worker, pool->job, &pool->sampler, id, pool->n_workers, &lane->report,
                             &err);

    worker.stop = &pool->shared->stop;
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
    dlb_worker_close(&worker);
    lane->report.meters.cpu_ns += thread_cpu_ns() - cpu_start_ns;
    dlb_os_thread(0, &os);
    if (os.runqueue_ns == DLB_NOT_MEASURED || lane->report.runqueue_ns == DLB_NOT_MEASURED)
        lane->report.runqueue_ns = DLB_NOT_MEASURED;
    else
        lane->report.runqueue_ns += os.runqueue_ns;
}

/* Copies one batch of a lane from slot to pinned slot, as torch's pin thread does; true when there
 * was one. */
static bool pin_one(struct dlb_pool *pool, struct dlb_lane *lane, uint32_t *carried)
{
    uint32_t to = 0;

    if (*carried == 0) {
        uint32_t slot = 0;
        if (!dlb_ring_pop(&lane->full, &slot))
            return false;
        if (slot == DLB_POOL_END) {
            dlb_ring_push(&lane->pinned_full, DLB_POOL_END);
            dlb_event_signal(&lane->to_consumer);
            return true;
        }
        *carried = slot + 1;
    }
    if (!dlb_ring_pop(&lane->pinned_free, &to))
        return false;
    uint64_t start_ns = dlb_now_ns();
    dlb_slot_copy(&pool->pinned, to, &pool->slots, *carried - 1);
    uint64_t end_ns = dlb_now_ns();
    dlb_slot_head(&pool->pinned, to)->ready_ns = end_ns;
    dlb_hist_add(&pool->pin_hist, end_ns - start_ns);
    dlb_ring_push(&lane->pinned_full, to);
    dlb_event_signal(&lane->to_consumer);
    dlb_ring_push(&lane->free, *carried - 1);
    dlb_event_signal(&lane->slot_freed);
    *carried = 0;
    return true;
}

/* Takes whatever is ready: it pins before batches are put in order. */
static void pin_loop(struct dlb_pool *pool)
{
    uint32_t *carried =
        calloc(pool->n_workers, sizeof *carried); /* 1 + a full slot that waits for a pinned one */
    struct dlb_err err;

    if (!carried) {
        (void)dlb_fail_errno(&err, NULL, DLB_NO_OFFSET, "starting the pin thread");
        dlb_pool_fail(pool, 0, &err);
        return;
    }
    for (;;) {
        uint32_t seen = dlb_event_seq(&pool->shared->to_pin);
        bool any = false;
        if (stopping(pool))
            break;
        for (uint32_t w = 0; w < pool->n_workers; w++)
            any |= pin_one(pool, &pool->lanes[w], &carried[w]);
        if (!any)
            dlb_event_wait(&pool->shared->to_pin, seen, UINT64_MAX);
    }
    free(carried);
}

static void *pin_main(void *arg)
{
    struct dlb_pool *pool = arg;
    pin_loop(pool);
    dlb_thread_done(&pool->pin);
    return NULL;
}

int dlb_pool_begin_epoch(struct dlb_pool *pool, uint64_t epoch, struct dlb_err *err)
{
    if (pool->pin_thread && !pool->pin_running) {
        int code = pthread_create(&pool->pin.handle, NULL, pin_main, pool);
        if (code != 0)
            return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "starting the pin thread: %s",
                            strerror(code));
        pool->pin_running = true;
    }
    dlb_sampler_begin_epoch(&pool->sampler, epoch);
    for (uint32_t w = 0; w < pool->n_workers; w++)
        pool->active[w] = true;
    pool->n_active = pool->n_workers;
    pool->turn = 0;
    pool->n_yielded = 0;
    atomic_store(&pool->shared->epoch_begun, epoch + 1);
    for (uint32_t w = 0; w < pool->n_workers; w++)
        dlb_event_signal(&pool->lanes[w].to_worker);
    return DLB_OK;
}

static struct dlb_ring *deliver_ring(struct dlb_pool *pool, uint32_t w)
{
    return pool->pin_thread ? &pool->lanes[w].pinned_full : &pool->lanes[w].full;
}

static const struct dlb_slots *deliver_slots(const struct dlb_pool *pool)
{
    return pool->pin_thread ? &pool->pinned : &pool->slots;
}

/* Since when another worker's batch has been ready while the consumer waited for worker `w`;
 * UINT64_MAX: none is. */
static uint64_t others_ready_ns(struct dlb_pool *pool, uint32_t w)
{
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t other = 0; other < pool->n_workers; other++) {
        uint32_t slot = 0;
        if (other == w || !dlb_ring_peek(deliver_ring(pool, other), &slot) || slot == DLB_POOL_END)
            continue;
        uint64_t ready_ns = dlb_slot_head(deliver_slots(pool), slot)->ready_ns;
        if (ready_ns < earliest_ns)
            earliest_ns = ready_ns;
    }
    return earliest_ns;
}

/* What worker `w` pushed next; *got is false when timeout_ns passed first. */
static int take_next(struct dlb_pool *pool, uint32_t w, uint64_t timeout_ns, uint32_t *slot,
                     bool *got, struct dlb_err *err)
{
    struct dlb_lane *lane = &pool->lanes[w];
    struct dlb_ring *ring = deliver_ring(pool, w);
    uint64_t start_ns = 0, deadline_ns = 0;

    for (;;) {
        uint32_t seen = dlb_event_seq(&lane->to_consumer);
        if (atomic_load(&pool->shared->failed) != 0) {
            *err = pool->shared->err;
            return (int)err->status;
        }
        *got = dlb_ring_pop(ring, slot);
        if (*got)
            break;
        uint64_t now_ns = dlb_now_ns();
        if (start_ns == 0) {
            start_ns = now_ns;
            deadline_ns = timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
        }
        if (now_ns >= deadline_ns)
            break;
        dlb_event_wait(&lane->to_consumer, seen, deadline_ns);
    }
    if (start_ns != 0 && pool->n_workers > 1) {
        uint64_t end_ns = dlb_now_ns(), ready_ns = others_ready_ns(pool, w);
        if (ready_ns < start_ns)
            ready_ns = start_ns;
        if (ready_ns < end_ns)
            pool->order_wait_ns += end_ns - ready_ns;
    }
    return DLB_OK;
}

int dlb_pool_next(struct dlb_pool *pool, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                  struct dlb_err *err)
{
    *got = false;
    while (pool->n_active > 0) {
        uint32_t w = pool->turn, slot = 0;
        bool popped = false;
        if (pool->active[w]) {
            int rc = take_next(pool, w, timeout_ns, &slot, &popped, err);
            if (rc != DLB_OK || !popped)
                return rc;
        }
        pool->turn = (w + 1) % pool->n_workers;
        if (!popped)
            continue;
        if (slot == DLB_POOL_END) {
            pool->active[w] = false;
            pool->n_active--;
            continue;
        }
        *out = dlb_slot_batch(deliver_slots(pool), slot, pool->job->checksum);
        out->worker = w;
        out->seq = pool->n_yielded++;
        *got = true;
        atomic_fetch_add(&pool->lanes[w].credits, 1);
        dlb_event_signal(&pool->lanes[w].to_worker);
        return DLB_OK;
    }
    return DLB_END;
}

void dlb_pool_release(struct dlb_pool *pool, const struct dlb_batch *batch)
{
    struct dlb_lane *lane = &pool->lanes[batch->worker];
    if (pool->pin_thread) {
        dlb_ring_push(&lane->pinned_free, batch->slot);
        dlb_event_signal(&pool->shared->to_pin);
    } else {
        dlb_ring_push(&lane->free, batch->slot);
        dlb_event_signal(&lane->slot_freed);
    }
}

int dlb_pool_stop(struct dlb_pool *pool, uint64_t deadline_ns, struct dlb_err *err)
{
    if (!pool->shared)
        return DLB_OK;
    atomic_store(&pool->shared->stop, true);
    wake_all(pool);
    if (!pool->pin_running)
        return DLB_OK;
    int code = dlb_thread_join(&pool->pin, deadline_ns);
    if (code != 0)
        return dlb_fail(err, DLB_E_WORKER, NULL, DLB_NO_OFFSET, "the pin thread does not end: %s",
                        dlb_thread_why(code));
    pool->pin_running = false;
    return DLB_OK;
}

void dlb_pool_stats(const struct dlb_pool *pool, struct dlb_loader_stats *out)
{
    *out = (struct dlb_loader_stats){.order_wait_ns = pool->order_wait_ns};
    for (uint32_t w = 0; w < pool->n_workers; w++)
        dlb_worker_report_merge(out, &pool->lanes[w].report);
    dlb_hist_merge(&out->workers.stage[DLB_WS_PIN], &pool->pin_hist);
}
