/* The pin thread, as torch has it: copies every batch to pinned memory before batches are put in
 * order. */
#include "loaders/pool/pool.h"

#include "core/base/clock.h"

#include <stdlib.h>
#include <string.h>

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
            dlb_event_signal(dlb_pool_ready(pool, lane));
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
    dlb_event_signal(dlb_pool_ready(pool, lane));
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
        dlb_pool_fail(pool, pool->n_workers, &err); /* no worker's name */
        return;
    }
    for (;;) {
        uint32_t seen = dlb_event_seq(&pool->shared->to_pin);
        bool any = false;
        if (dlb_pool_stopping(pool))
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

int dlb_pool_pin_start(struct dlb_pool *pool, struct dlb_err *err)
{
    if (!pool->pin_thread || pool->pin_running)
        return DLB_OK;
    int code = pthread_create(&pool->pin.handle, NULL, pin_main, pool);
    if (code != 0)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "starting the pin thread: %s",
                        strerror(code));
    pool->pin_running = true;
    return DLB_OK;
}
