/* The pin thread, as in torch's DataLoader: it copies every batch to pinned memory before batches
 * are put in order. */
#include "loaders/pool/pool.h"

#include "core/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Copies one batch of a lane from its slot to a pinned one; true when there was something to pass
 * on. `carried` is 1 + a full slot that was popped and has no pinned slot yet; 0: none. */
static bool pin_one(struct dlb_pool_pin *pin, struct dlb_lane *lane, uint32_t *carried)
{
    struct dlb_pool_common *common = pin->common;
    uint32_t to = 0;

    if (*carried == 0) {
        uint32_t slot = 0;
        if (!dlb_ring_pop(&lane->full, &slot))
            return false;
        if (slot == DLB_POOL_END) {
            dlb_ring_push(&lane->pinned_full, DLB_POOL_END);
            dlb_event_signal(dlb_pool_ready(common, lane));
            return true;
        }
        *carried = slot + 1;
    }
    if (!dlb_ring_pop(&lane->pinned_free, &to))
        return false;
    uint64_t start_ns = dlb_now_ns();
    dlb_slot_copy(&common->pinned, to, &common->slots, *carried - 1);
    uint64_t end_ns = dlb_now_ns();
    bool measured = atomic_load_explicit(&common->shared->measuring, memory_order_relaxed);
    struct dlb_slot *head = dlb_slot_head(&common->pinned, to);
    head->ready_ns = end_ns;
    dlb_hist_add(&pin->hist[measured], end_ns - start_ns);
    dlb_trace_at_batch(pin->trace, head->epoch, head->number);
    dlb_trace_add(pin->trace, DLB_WS_PIN, measured, start_ns, end_ns);
    dlb_ring_push(&lane->pinned_full, to);
    dlb_event_signal(dlb_pool_ready(common, lane));
    dlb_ring_push(&lane->free, *carried - 1);
    dlb_event_signal(&lane->slot_freed);
    *carried = 0;
    return true;
}

static void pin_loop(struct dlb_pool_pin *pin)
{
    struct dlb_pool_common *common = pin->common;
    uint32_t *carried = calloc(common->n_workers, sizeof *carried); /* see pin_one */
    struct dlb_err err;

    if (!carried) {
        (void)dlb_fail_memory(&err, NULL, common->n_workers * sizeof *carried);
        dlb_pool_fail(common, common->n_workers, &err); /* the number of no worker */
        return;
    }
    for (;;) {
        uint32_t seen = dlb_event_seq(&common->shared->to_pin);
        bool any = false;
        if (dlb_pool_stopping(common))
            break;
        for (uint32_t w = 0; w < common->n_workers; w++)
            any |= pin_one(pin, &common->lanes[w], &carried[w]);
        if (!any)
            dlb_event_wait(&common->shared->to_pin, seen, UINT64_MAX);
    }
    free(carried);
}

static void *pin_main(void *arg)
{
    struct dlb_pool_pin *pin = arg;
    pin_loop(pin);
    dlb_thread_done(&pin->thread);
    return NULL;
}

int dlb_pool_pin_start(struct dlb_pool_pin *pin, struct dlb_pool_common *common,
                       struct dlb_err *err)
{
    if (!common->pin_thread || pin->running)
        return DLB_OK;
    pin->common = common;
    pin->trace = dlb_trace_ring_of(common->job->trace, DLB_TRACK_PIN, common->job->nth, 0);
    int code = pthread_create(&pin->thread.handle, NULL, pin_main, pin);
    if (code != 0)
        return dlb_fail(err, DLB_ERR_WORKER_NOT_STARTED, NULL, DLB_NO_OFFSET,
                        "starting the pin thread: %s", strerror(code));
    pin->running = true;
    return DLB_OK;
}
