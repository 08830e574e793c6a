/* num_workers = 0: the consumer itself reads, decodes, collates (and pins) inside next(), so
 * nothing overlaps. */
#include "core/base/clock.h"
#include "core/host/osacct.h"
#include "loaders/loader.h"
#include "loaders/worker/worker.h"

#include <stdlib.h>

struct inline_loader {
    const struct dlb_job *job;
    struct dlb_sampler sampler;
    struct dlb_slots slots;    /* what is delivered */
    struct dlb_slots unpinned; /* one slot to load into, with pin_mode "thread" only */
    struct dlb_worker worker;
    struct dlb_worker_report *report; /* owned */
    uint32_t *free_slot;              /* a stack; owned */
    uint32_t n_free;
    uint64_t batch;
    bool worker_open;
};

static int inline_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    struct inline_loader *self = ld;
    const struct dlb_loader_opts *opts = job->opts;
    struct dlb_sampler_opts order = {.seed = job->seed,
                                     .rank = job->rank,
                                     .world = job->world,
                                     .batch_size = (uint32_t)opts->batch_size,
                                     .shuffle = opts->shuffle,
                                     .drop_last = opts->drop_last,
                                     .order = job->order};
    uint32_t n_slots = dlb_slots_size(opts, job->device_prefetch, job->n_others, 0).n_each;
    uint64_t max_bytes = job->dataset->max_payload_bytes;

    self->job = job;
    self->report = calloc(1, sizeof *self->report);
    self->free_slot = calloc(n_slots, sizeof *self->free_slot);
    if (!self->report || !self->free_slot)
        return dlb_fail_memory(err, NULL, sizeof *self->report + n_slots * sizeof *self->free_slot);
    for (uint32_t i = 0; i < n_slots; i++)
        self->free_slot[self->n_free++] = i;
    int rc = dlb_sampler_open(&self->sampler, &job->dataset->shape, &order, false, err);
    if (rc == DLB_OK)
        rc = dlb_slots_open(&self->slots, n_slots, order.batch_size, max_bytes, false, err);
    if (rc == DLB_OK && opts->pin_memory && opts->pin_mode == DLB_PIN_THREAD)
        rc = dlb_slots_open(&self->unpinned, 1, order.batch_size, max_bytes, false, err);
    return rc;
}

static void inline_memory(void *ld, struct dlb_memory *out)
{
    struct inline_loader *self = ld;
    *out = (struct dlb_memory){.addr = self->slots.payload.addr,
                               .n_bytes = self->slots.payload.n_bytes,
                               .slots_bytes =
                                   self->slots.payload.n_bytes + self->unpinned.payload.n_bytes,
                               .huge = self->slots.payload.huge};
}

static int open_worker(struct inline_loader *self, struct dlb_err *err)
{
    const struct dlb_worker_setup setup = {
        .job = self->job,
        .sampler = &self->sampler,
        .report = self->report,
        .stop = self->job->cancel,
        .pulse = self->job->pulse,
        .trace = dlb_trace_ring_of(self->job->trace, DLB_TRACK_WORKER, self->job->nth, 0),
        .n_workers = 1};

    if (self->worker_open)
        return DLB_OK;
    self->worker_open = true; /* to be closed even when it fails half-way */
    return dlb_worker_open(&self->worker, &setup, err);
}

static int inline_begin_epoch(void *ld, uint32_t epoch, struct dlb_err *err)
{
    struct inline_loader *self = ld;
    int rc = open_worker(self, err);

    if (rc != DLB_OK)
        return rc;
    dlb_sampler_begin_epoch(&self->sampler, epoch);
    self->batch = 0;
    dlb_worker_begin_epoch(&self->worker, epoch);
    return DLB_OK;
}

static int inline_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                       struct dlb_err *err)
{
    struct inline_loader *self = ld;
    bool pin_copy = self->unpinned.n_slots > 0;

    *got = false;
    if (self->n_free == 0) { /* all are being copied to the device: only the caller can free one */
        (void)dlb_sleep_until_ns(
            dlb_now_ns() + (timeout_ns < 20 * DLB_NS_PER_US ? timeout_ns : 20 * DLB_NS_PER_US));
        return DLB_OK;
    }
    uint32_t slot = self->free_slot[self->n_free - 1];
    int rc = dlb_worker_fill(&self->worker, self->batch, pin_copy ? &self->unpinned : &self->slots,
                             pin_copy ? 0 : slot, err);
    if (rc == DLB_E_CANCELLED)
        return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    if (rc != DLB_OK)
        return rc;
    if (pin_copy) {
        uint64_t start_ns = dlb_now_ns();
        dlb_slot_copy(&self->slots, slot, &self->unpinned, 0);
        dlb_trace_at_batch(self->worker.setup.trace, self->worker.epoch, self->batch);
        dlb_worker_meter(&self->worker.setup, DLB_WS_PIN, start_ns, dlb_now_ns());
    }
    self->n_free--;
    *out = dlb_slot_batch(&self->slots, slot, self->job->checksum);
    out->seq = self->batch++;
    *got = true;
    return DLB_OK;
}

/* Its thread is the consumer's, whose CPU time is counted there. */
static void inline_measure(void *ld, bool opens)
{
    struct inline_loader *self = ld;
    self->report->in_window = opens;
}

static void inline_release(void *ld, const struct dlb_batch *batch)
{
    struct inline_loader *self = ld;
    self->free_slot[self->n_free++] = batch->slot;
}

static int inline_stop(void *ld, struct dlb_err *err)
{
    struct inline_loader *self = ld;
    (void)err;
    if (self->worker_open)
        dlb_worker_close(&self->worker);
    self->worker_open = false;
    return DLB_OK;
}

/* One thread loads and consumes, so its run-queue wait cannot be attributed to a worker. */
static void inline_stats(void *ld, struct dlb_loader_stats *out)
{
    struct inline_loader *self = ld;
    self->report->runqueue_ns[true] = DLB_NOT_MEASURED;
    dlb_worker_report_merge(out, self->report);
}

static void inline_close(void *ld)
{
    struct inline_loader *self = ld;
    dlb_sampler_close(&self->sampler);
    dlb_slots_close(&self->slots);
    dlb_slots_close(&self->unpinned);
    free(self->report);
    free(self->free_slot);
}

const struct dlb_loader dlb_ld_inline = {
    .name = "inline",
    .summary = "no workers: the training loop loads each batch itself",
    .state_bytes = sizeof(struct inline_loader),
    .start = inline_start,
    .memory = inline_memory,
    .begin_epoch = inline_begin_epoch,
    .next = inline_next,
    .measure = inline_measure,
    .release = inline_release,
    .stop = inline_stop,
    .stats = inline_stats,
    .close = inline_close,
};
