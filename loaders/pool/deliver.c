/* The consumer's side of the pool: which batch comes next, how long it may take, and the slots that
 * go back. */
#include "loaders/pool/pool.h"

#include "core/base/clock.h"

#include <stdio.h>

#define LOOK_EVERY_NS (100 * DLB_NS_PER_MS)

/* Map-style with order "any": the consumer says which worker loads which batch. */
static bool deals(const struct dlb_pool_common *common)
{
    return common->any_order && !common->sampler.iterable;
}

/* Gives a worker the next batch, or tells it once that none is left. */
static void give_task(struct dlb_pool_common *common, struct dlb_pool_rotation *rotation,
                      uint32_t w)
{
    if (rotation->next_task < common->sampler.n_batches) {
        dlb_ring_push(&common->lanes[w].tasks, (uint32_t)rotation->next_task++);
    } else if (!rotation->told_end[w]) {
        dlb_ring_push(&common->lanes[w].tasks, DLB_POOL_END);
        rotation->told_end[w] = true;
    }
}

/* Deals prefetch_factor rounds. A worker that gets a batch is sent DLB_POOL_END when it has
 * delivered one; a worker that gets none is sent it now. */
static void deal(struct dlb_pool_common *common, struct dlb_pool_rotation *rotation)
{
    uint64_t n_first = (uint64_t)common->n_workers * (uint64_t)common->job->opts->prefetch_factor;

    rotation->next_task = 0;
    for (uint32_t w = 0; w < common->n_workers; w++)
        rotation->told_end[w] = false;
    for (uint64_t i = 0; i < n_first && rotation->next_task < common->sampler.n_batches; i++)
        give_task(common, rotation, (uint32_t)(i % common->n_workers));
    for (uint64_t w = common->sampler.n_batches; w < common->n_workers; w++)
        give_task(common, rotation, (uint32_t)w);
}

static void begin_rotation(struct dlb_pool_rotation *rotation, uint32_t n_workers)
{
    for (uint32_t w = 0; w < n_workers; w++)
        rotation->active[w] = true;
    rotation->n_active = n_workers;
    rotation->turn = 0;
    rotation->n_yielded = 0;
}

int dlb_pool_begin_epoch(struct dlb_pool *pool, uint64_t epoch, struct dlb_err *err)
{
    struct dlb_pool_common *common = &pool->common;
    int rc = dlb_pool_pin_start(&pool->pin, common, err);
    if (rc != DLB_OK)
        return rc;
    dlb_sampler_begin_epoch(&common->sampler, epoch);
    begin_rotation(&pool->rotation, common->n_workers);
    pool->watch.waiting_since_ns = 0;
    pool->watch.progress_ns = 0;
    pool->order_wait.from_ns = 0;
    if (deals(common))
        deal(common, &pool->rotation);
    atomic_store(&common->shared->epoch_begun, epoch + 1);
    for (uint32_t w = 0; w < common->n_workers; w++)
        dlb_event_signal(&common->lanes[w].to_worker);
    return DLB_OK;
}

void dlb_pool_measure(struct dlb_pool_common *common, bool opens)
{
    atomic_store_explicit(&common->shared->measuring, opens, memory_order_relaxed);
}

static struct dlb_ring *deliver_ring(struct dlb_pool_common *common, uint32_t w)
{
    return common->pin_thread ? &common->lanes[w].pinned_full : &common->lanes[w].full;
}

static const struct dlb_slots *deliver_slots(const struct dlb_pool_common *common)
{
    return common->pin_thread ? &common->pinned : &common->slots;
}

/* When the next entry of worker `w` became ready; 0: that entry is DLB_POOL_END; UINT64_MAX: there
 * is no entry. */
static uint64_t ready_ns_of(struct dlb_pool_common *common, uint32_t w)
{
    uint32_t slot = 0;

    if (!dlb_ring_peek(deliver_ring(common, w), &slot))
        return UINT64_MAX;
    return slot == DLB_POOL_END ? 0 : dlb_slot_head(deliver_slots(common), slot)->ready_ns;
}

/* Since when a batch of any worker but `w` has been ready; UINT64_MAX: none is. */
static uint64_t others_ready_ns(struct dlb_pool_common *common, uint32_t w)
{
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t other = 0; other < common->n_workers; other++) {
        uint64_t ready_ns = other == w ? 0 : ready_ns_of(common, other);
        if (ready_ns > 0 && ready_ns < earliest_ns)
            earliest_ns = ready_ns;
    }
    return earliest_ns;
}

/* Pops the next entry of worker *w. With order "any" it pops the entry that was ready first, and
 * sets *w to its worker. False when there is none. */
static bool pop_ready(struct dlb_pool_common *common, uint32_t *w, uint32_t *slot)
{
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t i = 0; common->any_order && i < common->n_workers; i++) {
        uint64_t ready_ns = ready_ns_of(common, i);
        if (ready_ns >= earliest_ns)
            continue;
        earliest_ns = ready_ns;
        *w = i;
    }
    return dlb_ring_pop(deliver_ring(common, *w), slot);
}

/* The worker to name when a wait takes too long: `w`, or with order "any" the one that has been at
 * its sample for longest. */
static uint32_t slowest(const struct dlb_pool *pool, uint32_t w)
{
    const struct dlb_pool_common *common = &pool->common;
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t i = 0; common->any_order && i < common->n_workers; i++) {
        uint64_t since_ns =
            atomic_load_explicit(&common->lanes[i].report.at_since_ns, memory_order_relaxed);
        if (!pool->rotation.active[i] || since_ns == 0 || since_ns >= earliest_ns)
            continue;
        earliest_ns = since_ns;
        w = i;
    }
    return w;
}

/* `limit` says which limit was reached. */
static int timed_out(struct dlb_pool *pool, uint32_t w, double waited_s, const char *limit,
                     struct dlb_err *err)
{
    char where[64], path[2048], who[32] = "";
    uint32_t id = slowest(pool, w);
    int pid = atomic_load(&pool->common.lanes[id].pid);

    pool->watch.timed_out = true;
    dlb_pool_where(&pool->common, id, where, sizeof where, path, sizeof path);
    if (pid != 0)
        (void)snprintf(who, sizeof who, " (pid %d)", pid);
    return dlb_fail(err, DLB_ERR_READER_HANGS, path[0] ? path : NULL, DLB_NO_OFFSET,
                    "no batch for %.3g s%s: worker %u%s is stuck %s", waited_s, limit, id, who,
                    where);
}

/* Workers that make progress are slow, not stuck: the pulse tells that to the process that watches
 * this one. If no worker has left its sample for as long as that process waits, this names the
 * stuck one before the watcher has to guess. */
static int check_progress(struct dlb_pool *pool, uint32_t w, uint64_t now_ns, struct dlb_err *err)
{
    const struct dlb_pool_common *common = &pool->common;
    struct dlb_pool_watch *watch = &pool->watch;
    struct dlb_pulse *pulse = common->job->pulse;
    uint64_t progress = 0;

    if (!pulse || now_ns - watch->looked_ns < LOOK_EVERY_NS)
        return DLB_OK;
    watch->looked_ns = now_ns;
    for (uint32_t i = 0; i < common->n_workers; i++)
        progress +=
            atomic_load_explicit(&common->lanes[i].report.at_since_ns, memory_order_relaxed) +
            atomic_load_explicit(&common->lanes[i].report.at_nth, memory_order_relaxed);
    if (progress != watch->progress)
        dlb_pulse_sign(pulse);
    if (progress != watch->progress || watch->progress_ns == 0) {
        watch->progress = progress;
        watch->progress_ns = now_ns;
    }
    if (pulse->stall_ns == 0 || now_ns - watch->progress_ns < pulse->stall_ns)
        return DLB_OK;
    return timed_out(pool, w, (double)pulse->stall_ns / (double)DLB_NS_PER_S, "", err);
}

/* When the consumer's sleep ends: at the caller's deadline, or earlier at loader.timeout_s. *late:
 * the latter has passed. */
static uint64_t sleep_end_ns(struct dlb_pool_watch *watch, double timeout_s, uint64_t now_ns,
                             uint64_t deadline_ns, bool *late)
{
    if (timeout_s <= 0)
        return deadline_ns;
    if (watch->waiting_since_ns == 0)
        watch->waiting_since_ns = now_ns;
    uint64_t end_ns = watch->waiting_since_ns + (uint64_t)(timeout_s * (double)DLB_NS_PER_S);
    *late = now_ns >= end_ns;
    return end_ns < deadline_ns ? end_ns : deadline_ns;
}

/* Counts the part of a wait for worker `w`, from start_ns to now, in which another worker's batch
 * was ready. */
static void count_order_wait(struct dlb_pool *pool, uint32_t w, uint64_t start_ns, bool got)
{
    struct dlb_pool_order_wait *wait = &pool->order_wait;
    uint64_t end_ns = dlb_now_ns(), ready_ns = others_ready_ns(&pool->common, w);

    if (ready_ns < start_ns)
        ready_ns = start_ns;
    if (ready_ns < end_ns &&
        atomic_load_explicit(&pool->common.shared->measuring, memory_order_relaxed))
        wait->total_ns += end_ns - ready_ns;
    wait->from_ns = got ? 0 : end_ns;
}

/* Takes the next entry of worker *w (see pop_ready); *got is false when timeout_ns passed first. */
static int take_next(struct dlb_pool *pool, uint32_t *w, uint64_t timeout_ns, uint32_t *slot,
                     bool *got, struct dlb_err *err)
{
    struct dlb_pool_common *common = &pool->common;
    double timeout_s = common->job->opts->timeout_s;
    struct dlb_event *event = dlb_pool_ready(common, &common->lanes[*w]);
    uint64_t start_ns = pool->order_wait.from_ns, deadline_ns = 0;
    bool late = false;

    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (atomic_load(&common->shared->failed) != 0) {
            *err = common->shared->err;
            return (int)err->status;
        }
        *got = pop_ready(common, w, slot);
        if (*got)
            break;
        uint64_t now_ns = dlb_now_ns();
        if (deadline_ns == 0) {
            start_ns = start_ns ? start_ns : now_ns;
            deadline_ns = timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
        }
        uint64_t end_ns = sleep_end_ns(&pool->watch, timeout_s, now_ns, deadline_ns, &late);
        if (late)
            return timed_out(pool, *w, timeout_s, " (loader.timeout_s)", err);
        int rc = check_progress(pool, *w, now_ns, err);
        if (rc != DLB_OK)
            return rc;
        if (now_ns >= deadline_ns)
            break;
        dlb_event_wait(event, seen, end_ns);
    }
    if (*got)
        pool->watch.waiting_since_ns = pool->watch.progress_ns = 0;
    if (start_ns != 0 && common->n_workers > 1 && !common->any_order)
        count_order_wait(pool, *w, start_ns, *got);
    return DLB_OK;
}

/* As torch refills: when a batch is yielded, its worker may begin another one. */
static void refill(struct dlb_pool_common *common, struct dlb_pool_rotation *rotation, uint32_t w)
{
    if (deals(common))
        give_task(common, rotation, w);
    else
        atomic_fetch_add(&common->lanes[w].credits, 1);
    dlb_event_signal(&common->lanes[w].to_worker);
}

int dlb_pool_next(struct dlb_pool *pool, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                  struct dlb_err *err)
{
    struct dlb_pool_common *common = &pool->common;
    struct dlb_pool_rotation *rotation = &pool->rotation;

    *got = false;
    while (rotation->n_active > 0) {
        uint32_t w = rotation->turn, slot = 0;
        bool popped = false;
        if (common->any_order || rotation->active[w]) {
            int rc = take_next(pool, &w, timeout_ns, &slot, &popped, err);
            if (rc != DLB_OK || !popped)
                return rc;
        }
        rotation->turn = w + 1 < common->n_workers ? w + 1 : 0;
        if (!popped)
            continue;
        if (slot == DLB_POOL_END) {
            rotation->active[w] = false;
            rotation->n_active--;
            continue;
        }
        *out = dlb_slot_batch(deliver_slots(common), slot, common->job->checksum);
        out->worker = w;
        out->seq = rotation->n_yielded++;
        *got = true;
        refill(common, rotation, w);
        return DLB_OK;
    }
    return DLB_END;
}

void dlb_pool_release(struct dlb_pool_common *common, const struct dlb_batch *batch)
{
    struct dlb_lane *lane = &common->lanes[batch->worker];
    if (common->pin_thread) {
        dlb_ring_push(&lane->pinned_free, batch->slot);
        dlb_event_signal(&common->shared->to_pin);
    } else {
        dlb_ring_push(&lane->free, batch->slot);
        dlb_event_signal(&lane->slot_freed);
    }
}
