/* Opening, dismissing and closing a pool, and what any side may call. */
#include "loaders/pool/pool.h"

#include "core/base/clock.h"
#include "loaders/pool/limits.h"

#include <stdio.h>
#include <stdlib.h>

static int open_sampler(struct dlb_pool_common *common, struct dlb_err *err)
{
    const struct dlb_job *job = common->job;
    struct dlb_sampler_opts order = {.seed = job->seed,
                                     .rank = job->rank,
                                     .world = job->world,
                                     .batch_size = (uint32_t)job->opts->batch_size,
                                     .shuffle = job->opts->shuffle,
                                     .drop_last = job->opts->drop_last,
                                     .order = job->order};
    int rc = dlb_sampler_open(&common->sampler, &job->dataset->shape, &order,
                              common->across_processes, err);

    if (rc == DLB_OK && common->any_order && common->sampler.n_batches >= DLB_POOL_END)
        rc = dlb_fail(
            err, DLB_ERR_LOADER_BATCHES_TOO_MANY, NULL, DLB_NO_OFFSET,
            "loader.order = \"any\" numbers batches with 32 bits: raise loader.batch_size");
    return rc;
}

static int open_slots(struct dlb_pool_common *common, struct dlb_err *err)
{
    uint32_t n_slots = common->n_workers * common->slots_per_worker;
    uint32_t batch_size = (uint32_t)common->job->opts->batch_size;
    uint64_t max_bytes = common->job->dataset->max_payload_bytes;
    int rc = dlb_slots_open(&common->slots, n_slots, batch_size, max_bytes,
                            common->across_processes, err);

    if (rc == DLB_OK && common->pin_thread)
        rc = dlb_slots_open(&common->pinned, n_slots, batch_size, max_bytes,
                            common->across_processes, err);
    if (rc == DLB_OK && common->fresh)
        dlb_slots_small_pages(&common->slots);
    return rc;
}

static int open_lanes(struct dlb_pool_common *common, struct dlb_err *err)
{
    size_t head_bytes = (sizeof(struct dlb_pool_shared) + 63) & ~(size_t)63;
    int rc = dlb_shm_create(&common->shm, head_bytes + common->n_workers * sizeof(struct dlb_lane),
                            common->across_processes, err);

    if (rc != DLB_OK)
        return rc;
    common->shared = common->shm.addr;
    common->lanes = (struct dlb_lane *)(void *)((uint8_t *)common->shm.addr + head_bytes);
    for (uint32_t w = 0; w < common->n_workers; w++) {
        struct dlb_lane *lane = &common->lanes[w];
        atomic_store(&lane->credits, (uint32_t)common->job->opts->prefetch_factor);
        for (uint32_t i = 0; i < common->slots_per_worker; i++) {
            dlb_ring_push(&lane->free, w * common->slots_per_worker + i);
            if (common->pin_thread)
                dlb_ring_push(&lane->pinned_free, w * common->slots_per_worker + i);
        }
    }
    return DLB_OK;
}

static int open_rotation(struct dlb_pool_rotation *rotation, uint32_t n_workers,
                         struct dlb_err *err)
{
    rotation->active = calloc(n_workers, sizeof *rotation->active);
    rotation->told_end = calloc(n_workers, sizeof *rotation->told_end);
    if (!rotation->active || !rotation->told_end)
        return dlb_fail_memory(err, NULL, 2 * (uint64_t)n_workers * sizeof *rotation->active);
    return DLB_OK;
}

int dlb_pool_open(struct dlb_pool *pool, const struct dlb_job *job, bool across_processes,
                  struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = job->opts;
    struct dlb_pool_common *common = &pool->common;

    *pool = (struct dlb_pool){
        .common = {.job = job,
                   .n_workers = (uint32_t)opts->num_workers,
                   .slots_per_worker =
                       dlb_slots_size(opts, job->device_prefetch, job->n_others, 0).n_each,
                   .pin_thread = opts->pin_memory && opts->pin_mode == DLB_PIN_THREAD,
                   .any_order = opts->order == DLB_ORDER_ANY,
                   .fresh = opts->transport == DLB_TRANSPORT_FRESH,
                   .across_processes = across_processes}};
    if (common->slots_per_worker >= DLB_RING_CAP)
        return dlb_fail(err, DLB_ERR_LOADER_SLOTS_TOO_MANY, NULL, DLB_NO_OFFSET,
                        "%u slots per worker, %d is the most: lower loader.prefetch_factor, "
                        "device.prefetch or, with shared workers, accelerators.count",
                        common->slots_per_worker, DLB_RING_CAP - 1);
    int rc = open_sampler(common, err);
    if (rc == DLB_OK)
        rc = open_slots(common, err);
    if (rc == DLB_OK)
        rc = dlb_limits_memory(job, err);
    if (rc == DLB_OK)
        rc = open_lanes(common, err);
    return rc == DLB_OK ? open_rotation(&pool->rotation, common->n_workers, err) : rc;
}

void dlb_pool_close(struct dlb_pool *pool)
{
    struct dlb_pool_common *common = &pool->common;

    free(pool->rotation.active);
    free(pool->rotation.told_end);
    pool->rotation.active = pool->rotation.told_end = NULL;
    dlb_sampler_close(&common->sampler);
    dlb_slots_close(&common->slots);
    dlb_slots_close(&common->pinned);
    dlb_shm_free(&common->shm);
}

void dlb_pool_memory(const struct dlb_pool_common *common, struct dlb_memory *out)
{
    const struct dlb_slots *from = common->pin_thread ? &common->pinned : &common->slots;
    *out = (struct dlb_memory){.addr = from->payload.addr,
                               .n_bytes = from->payload.n_bytes,
                               .slots_bytes =
                                   common->slots.payload.n_bytes + common->pinned.payload.n_bytes,
                               .huge = from->payload.huge,
                               .shared = common->across_processes};
}

/* A killed process may have cleared the flag of a sleeping thread without waking it. So this
 * wakes in any case. */
static void wake(struct dlb_event *event)
{
    dlb_event_signal(event);
    dlb_futex_wake(&event->word);
}

static void wake_all(struct dlb_pool_common *common)
{
    wake(&common->shared->to_pin);
    wake(&common->shared->any_ready);
    if (common->job->ready)
        wake(common->job->ready);
    for (uint32_t w = 0; w < common->n_workers; w++) {
        wake(&common->lanes[w].to_worker);
        wake(&common->lanes[w].slot_freed);
        wake(&common->lanes[w].to_consumer);
    }
}

/* The first caller writes the error. A worker may be killed while it writes; then the caller that
 * reports its death, under the same number, writes in its place. */
void dlb_pool_fail(struct dlb_pool_common *common, uint32_t id, const struct dlb_err *err)
{
    struct dlb_pool_shared *shared = common->shared;
    uint32_t taken = 0;

    if (!atomic_compare_exchange_strong(&shared->err_taken, &taken, id + 1) && taken != id + 1)
        return;
    if (atomic_load(&shared->failed) == 0) {
        shared->err = *err;
        atomic_store(&shared->failed, id + 1);
    }
    wake_all(common);
}

void dlb_pool_where(const struct dlb_pool_common *common, uint32_t id, char *text, size_t n_text,
                    char *path, size_t n_path)
{
    const struct dlb_worker_report *report = &common->lanes[id].report;
    const struct dlb_dataset *ds = common->job->dataset;
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

bool dlb_pool_stopping(const struct dlb_pool_common *common)
{
    return atomic_load_explicit(&common->shared->stop, memory_order_relaxed) ||
           atomic_load_explicit(&common->shared->failed, memory_order_relaxed) != 0;
}

void dlb_pool_dismiss(struct dlb_pool *pool)
{
    if (!pool->common.shared || pool->dismissed_ns != 0)
        return;
    pool->dismissed_ns = dlb_now_ns();
    atomic_store(&pool->common.shared->stop, true);
    wake_all(&pool->common);
}

int dlb_pool_stop(struct dlb_pool *pool, uint64_t patience_ns, struct dlb_err *err)
{
    dlb_pool_dismiss(pool);
    if (!pool->pin.running)
        return DLB_OK;
    int code = dlb_thread_join(&pool->pin.thread, pool->dismissed_ns + patience_ns);
    if (code != 0)
        return dlb_fail(err, DLB_ERR_WORKER_HANGS, NULL, DLB_NO_OFFSET,
                        "the pin thread does not end: %s", dlb_thread_why(code));
    pool->pin.running = false;
    return DLB_OK;
}

void dlb_pool_stats(const struct dlb_pool *pool, struct dlb_loader_stats *out)
{
    const struct dlb_pool_common *common = &pool->common;

    out->order_wait_ns += pool->order_wait.total_ns;
    for (uint32_t w = 0; common->lanes && w < common->n_workers; w++)
        dlb_worker_report_merge(out, &common->lanes[w].report);
    dlb_hist_merge(&out->workers.stage[DLB_WS_PIN], &pool->pin.hist[false]);
    dlb_hist_merge(&out->workers.stage[DLB_WS_PIN], &pool->pin.hist[true]);
    dlb_hist_merge(&out->window.stage[DLB_WS_PIN], &pool->pin.hist[true]);
}
