/* The consumer's side of the pool: what is ready, in which order, and what goes back. */
#include "loaders/pool/pool.h"

#include "core/base/clock.h"

#include <stdio.h>

#define LOOK_EVERY_NS (100 * DLB_NS_PER_MS)

/* Map-style in any order: the consumer says who loads which batch. */
static bool deals(const struct dlb_pool *pool)
{
    return pool->any_order && !pool->sampler.iterable;
}

/* The next batch for a worker, or once that none is left. */
static void give_task(struct dlb_pool *pool, uint32_t w)
{
    if (pool->next_task < pool->sampler.n_batches) {
        dlb_ring_push(&pool->lanes[w].tasks, (uint32_t)pool->next_task++);
    } else if (!pool->told_end[w]) {
        dlb_ring_push(&pool->lanes[w].tasks, DLB_POOL_END);
        pool->told_end[w] = true;
    }
}

/* prefetch_factor rounds. Who gets a batch hears of the end when he has delivered it. */
static void deal(struct dlb_pool *pool)
{
    uint64_t n_first = (uint64_t)pool->n_workers * (uint64_t)pool->job->opts->prefetch_factor;

    pool->next_task = 0;
    for (uint32_t w = 0; w < pool->n_workers; w++)
        pool->told_end[w] = false;
    for (uint64_t i = 0; i < n_first && pool->next_task < pool->sampler.n_batches; i++)
        give_task(pool, (uint32_t)(i % pool->n_workers));
    for (uint64_t w = pool->sampler.n_batches; w < pool->n_workers; w++)
        give_task(pool, (uint32_t)w);
}

int dlb_pool_begin_epoch(struct dlb_pool *pool, uint64_t epoch, struct dlb_err *err)
{
    int rc = dlb_pool_pin_start(pool, err);
    if (rc != DLB_OK)
        return rc;
    dlb_sampler_begin_epoch(&pool->sampler, epoch);
    for (uint32_t w = 0; w < pool->n_workers; w++)
        pool->active[w] = true;
    pool->n_active = pool->n_workers;
    pool->turn = 0;
    pool->n_yielded = 0;
    pool->waiting_since_ns = 0;
    pool->moved_ns = 0;
    pool->polled_ns = 0;
    if (deals(pool))
        deal(pool);
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

/* When worker `w` finished what it pushed next, so that it can be delivered; 0: that is the word
 * that it has no more; UINT64_MAX: there is nothing. */
static uint64_t ready_ns_of(struct dlb_pool *pool, uint32_t w)
{
    uint32_t slot = 0;

    if (!dlb_ring_peek(deliver_ring(pool, w), &slot))
        return UINT64_MAX;
    return slot == DLB_POOL_END ? 0 : dlb_slot_head(deliver_slots(pool), slot)->ready_ns;
}

/* Since when another worker's batch has been ready while the consumer waited for worker `w`;
 * UINT64_MAX: none is. */
static uint64_t others_ready_ns(struct dlb_pool *pool, uint32_t w)
{
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t other = 0; other < pool->n_workers; other++) {
        uint64_t ready_ns = other == w ? 0 : ready_ns_of(pool, other);
        if (ready_ns > 0 && ready_ns < earliest_ns)
            earliest_ns = ready_ns;
    }
    return earliest_ns;
}

/* What worker *w pushed next; in any order, what was ready first of all, and *w is who did. */
static bool pop_ready(struct dlb_pool *pool, uint32_t *w, uint32_t *slot)
{
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t i = 0; pool->any_order && i < pool->n_workers; i++) {
        uint64_t ready_ns = ready_ns_of(pool, i);
        if (ready_ns >= earliest_ns)
            continue;
        earliest_ns = ready_ns;
        *w = i;
    }
    return dlb_ring_pop(deliver_ring(pool, *w), slot);
}

/* Whom the consumer waits for: worker `w`, or in any order the one that has been at its sample for
 * longest. */
static uint32_t slowest(const struct dlb_pool *pool, uint32_t w)
{
    uint64_t earliest_ns = UINT64_MAX;

    for (uint32_t i = 0; pool->any_order && i < pool->n_workers; i++) {
        uint64_t since_ns =
            atomic_load_explicit(&pool->lanes[i].report.at_since_ns, memory_order_relaxed);
        if (!pool->active[i] || since_ns == 0 || since_ns >= earliest_ns)
            continue;
        earliest_ns = since_ns;
        w = i;
    }
    return w;
}

/* `limit`: which one it was. */
static int timed_out(struct dlb_pool *pool, uint32_t w, double waited_s, const char *limit,
                     struct dlb_err *err)
{
    char where[64], path[2048], who[32] = "";
    uint32_t id = slowest(pool, w);
    int pid = atomic_load(&pool->lanes[id].pid);

    pool->timed_out = true;
    dlb_pool_where(pool, id, where, sizeof where, path, sizeof path);
    if (pid != 0)
        (void)snprintf(who, sizeof who, " (pid %d)", pid);
    return dlb_fail(err, DLB_ERR_WORKER, path[0] ? path : NULL, DLB_NO_OFFSET,
                    "no batch for %.3g s%s: worker %u%s is stuck %s", waited_s, limit, id, who,
                    where);
}

/* Workers that come on are slow and no more. Who watches this process is told so; when none of them
 * has left its sample for as long as he waits, he need not guess who is stuck. */
static int guard(struct dlb_pool *pool, uint32_t w, uint64_t now_ns, struct dlb_err *err)
{
    struct dlb_pulse *pulse = pool->job->pulse;
    uint64_t moved = 0;

    if (!pulse || now_ns - pool->looked_ns < LOOK_EVERY_NS)
        return DLB_OK;
    pool->looked_ns = now_ns;
    for (uint32_t i = 0; i < pool->n_workers; i++)
        moved += atomic_load_explicit(&pool->lanes[i].report.at_since_ns, memory_order_relaxed);
    if (moved != pool->moved)
        dlb_pulse_sign(pulse);
    if (moved != pool->moved || pool->moved_ns == 0) {
        pool->moved = moved;
        pool->moved_ns = now_ns;
    }
    if (pulse->stall_ns == 0 || now_ns - pool->moved_ns < pulse->stall_ns)
        return DLB_OK;
    return timed_out(pool, w, (double)pulse->stall_ns / (double)DLB_NS_PER_S, "", err);
}

/* Until when the consumer may sleep, given until when the caller wants it to. */
static uint64_t sleep_end_ns(struct dlb_pool *pool, uint64_t now_ns, uint64_t deadline_ns,
                             bool *late)
{
    double timeout_s = pool->job->opts->timeout_s;
    if (timeout_s <= 0)
        return deadline_ns;
    if (pool->waiting_since_ns == 0)
        pool->waiting_since_ns = now_ns;
    uint64_t end_ns = pool->waiting_since_ns + (uint64_t)(timeout_s * (double)DLB_NS_PER_S);
    *late = now_ns >= end_ns;
    return end_ns < deadline_ns ? end_ns : deadline_ns;
}

/* What worker *w pushed next (see pop_ready); *got is false when timeout_ns passed first. */
static int take_next(struct dlb_pool *pool, uint32_t *w, uint64_t timeout_ns, uint32_t *slot,
                     bool *got, struct dlb_err *err)
{
    struct dlb_event *event = dlb_pool_ready(pool, &pool->lanes[*w]);
    uint64_t start_ns = pool->polled_ns, deadline_ns = 0;
    bool late = false;

    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (atomic_load(&pool->shared->failed) != 0) {
            *err = pool->shared->err;
            return (int)err->status;
        }
        *got = pop_ready(pool, w, slot);
        if (*got)
            break;
        uint64_t now_ns = dlb_now_ns();
        if (deadline_ns == 0) {
            start_ns = start_ns ? start_ns : now_ns;
            deadline_ns = timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
        }
        uint64_t end_ns = sleep_end_ns(pool, now_ns, deadline_ns, &late);
        if (late)
            return timed_out(pool, *w, pool->job->opts->timeout_s, " (loader.timeout_s)", err);
        int rc = guard(pool, *w, now_ns, err);
        if (rc != DLB_OK)
            return rc;
        if (now_ns >= deadline_ns)
            break;
        dlb_event_wait(event, seen, end_ns);
    }
    if (*got)
        pool->waiting_since_ns = pool->moved_ns = 0;
    if (start_ns != 0 && pool->n_workers > 1 && !pool->any_order) {
        uint64_t end_ns = dlb_now_ns(), ready_ns = others_ready_ns(pool, *w);
        if (ready_ns < start_ns)
            ready_ns = start_ns;
        if (ready_ns < end_ns)
            pool->order_wait_ns += end_ns - ready_ns;
        pool->polled_ns = *got ? 0 : end_ns;
    }
    return DLB_OK;
}

/* torch's refill: at the yield of a batch, to the worker that loaded it. */
static void refill(struct dlb_pool *pool, uint32_t w)
{
    if (deals(pool))
        give_task(pool, w);
    else
        atomic_fetch_add(&pool->lanes[w].credits, 1);
    dlb_event_signal(&pool->lanes[w].to_worker);
}

int dlb_pool_next(struct dlb_pool *pool, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                  struct dlb_err *err)
{
    *got = false;
    while (pool->n_active > 0) {
        uint32_t w = pool->turn, slot = 0;
        bool popped = false;
        if (pool->any_order || pool->active[w]) {
            int rc = take_next(pool, &w, timeout_ns, &slot, &popped, err);
            if (rc != DLB_OK || !popped)
                return rc;
        }
        pool->turn = w + 1 < pool->n_workers ? w + 1 : 0;
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
        refill(pool, w);
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
