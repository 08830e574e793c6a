/* Batches that are always ready: what a ceiling delivers (scenarios/plan/plan.c).
 *
 * It loads a few batches of the data set when it starts, in the consumer's thread, into slots like
 * those of the cell's own loader. It then delivers these again and again. An epoch has as many
 * batches as the sampler says, and the same short one at its end. Slots are never filled again, so
 * a batch may be on its way to the device more than once. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "loaders/loader.h"
#include "loaders/worker/worker.h"

#include <stdlib.h>

/* Full batches that are loaded, and how long loading goes on before it stops with fewer. */
#define MAX_FULL 4
#define FILL_NS DLB_NS_PER_S
/* How long batches are delivered, and how many in any case for each device. */
#define DELIVER_NS (2 * DLB_NS_PER_S)
#define MIN_DELIVERED 8

extern const struct dlb_loader dlb_ld_processes;

struct resident {
    const struct dlb_job *job;
    struct dlb_sampler sampler;
    struct dlb_slots slots;           /* full batches, then the short one */
    struct dlb_worker_report *report; /* owned */
    uint64_t n_batches;               /* in an epoch */
    uint32_t n_short;                 /* samples of the epoch's last batch; 0: it is a full one */
    uint32_t n_full, short_slot;      /* slots [0, n_full) hold full batches */
    uint64_t batch, n_delivered, first_ns; /* first_ns: of the first delivery; 0: none yet */
};

static int open_sampler(struct resident *self, struct dlb_err *err)
{
    const struct dlb_job *job = self->job;
    const struct dlb_loader_opts *opts = job->opts;
    struct dlb_sampler_opts order = {.seed = job->seed,
                                     .rank = job->rank,
                                     .world = job->world,
                                     .batch_size = (uint32_t)opts->batch_size,
                                     .shuffle = opts->shuffle,
                                     .drop_last = opts->drop_last};
    int rc = dlb_sampler_open(&self->sampler, &job->dataset->shape, &order, false, err);

    if (rc != DLB_OK)
        return rc;
    dlb_sampler_begin_epoch(&self->sampler, 0);
    uint64_t n = dlb_sampler_expected(&self->sampler, job->dataset, 1);
    self->n_short = (uint32_t)(n % order.batch_size);
    self->n_batches = n / order.batch_size + (self->n_short > 0);
    return DLB_OK;
}

static int open_slots(struct resident *self, struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = self->job->opts;
    uint64_t n_full = self->n_batches - (self->n_short > 0);
    struct dlb_err ignored;
    bool forks = dlb_loader_choose(opts, &ignored) == &dlb_ld_processes;

    self->short_slot = n_full < MAX_FULL ? (uint32_t)n_full : MAX_FULL;
    uint32_t n_slots = self->short_slot + (self->n_short > 0);
    if (n_slots == 0)
        return DLB_OK;
    int rc = dlb_slots_open(&self->slots, n_slots, (uint32_t)opts->batch_size,
                            self->job->dataset->max_payload_bytes, forks, err);
    if (rc == DLB_OK && opts->transport == DLB_TRANSPORT_FRESH && !opts->pin_memory)
        dlb_slots_small_pages(&self->slots);
    return rc;
}

static int fill(struct dlb_worker *worker, uint64_t batch, const struct dlb_slots *slots,
                uint32_t slot, struct dlb_err *err)
{
    int rc = dlb_worker_fill(worker, batch, slots, slot, err);
    return rc == DLB_E_CANCELLED
               ? dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted")
               : rc;
}

/* Of a stream, whose end would have to be read up to: leaves a batch its first n_short samples. */
static int cut_short(struct resident *self, struct dlb_err *err)
{
    const struct dlb_augment *augment = &self->job->dataset->augment;
    struct dlb_slot *head = dlb_slot_head(&self->slots, self->short_slot);
    const uint64_t *offset = dlb_slot_offset(&self->slots, self->short_slot);
    const uint8_t *payload = dlb_slot_payload(&self->slots, self->short_slot);

    if (head->n_samples > self->n_short)
        head->n_samples = self->n_short;
    head->n_bytes = offset[head->n_samples];
    if (!self->job->checksum)
        return DLB_OK;
    head->payload_hash = dlb_hash64(payload, head->n_bytes, 0);
    if (augment->kind == DLB_AUGMENT_NONE)
        return DLB_OK;
    uint8_t *made = malloc(augment->out_bytes);
    if (!made)
        return dlb_fail_memory(err, NULL, augment->out_bytes);
    head->made_hash = 0;
    for (uint32_t i = 0; i < head->n_samples; i++) {
        dlb_augment_run(augment, payload + offset[i], made);
        head->made_hash = dlb_hash64(made, augment->out_bytes, head->made_hash);
    }
    free(made);
    return DLB_OK;
}

/* The short batch first: without it the epochs would not be the cell's. */
static int load(struct resident *self, struct dlb_worker *worker, struct dlb_err *err)
{
    bool stream = self->sampler.iterable;
    uint64_t end_ns = dlb_now_ns() + FILL_NS;
    int rc = DLB_OK;

    if (self->n_short > 0) {
        rc = fill(worker, self->n_batches - 1, &self->slots, self->short_slot, err);
        if (rc == DLB_OK && stream)
            rc = cut_short(self, err);
    }
    for (uint32_t i = 0; rc == DLB_OK && i < self->short_slot; i++) {
        if (i > 0 && dlb_now_ns() >= end_ns)
            break;
        rc = fill(worker, i, &self->slots, i, err);
        self->n_full += rc == DLB_OK;
    }
    if (rc != DLB_END)
        return rc;
    /* A stream that has less than its shards promise: damaged ones are skipped. */
    if (self->n_full == 0)
        self->n_batches = 0;
    return DLB_OK;
}

static int resident_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    struct resident *self = ld;

    self->job = job;
    self->report = calloc(1, sizeof *self->report);
    if (!self->report)
        return dlb_fail_memory(err, NULL, sizeof *self->report);
    int rc = open_sampler(self, err);
    if (rc == DLB_OK)
        rc = open_slots(self, err);
    if (rc != DLB_OK)
        return rc;
    const struct dlb_worker_setup setup = {.job = job,
                                           .sampler = &self->sampler,
                                           .report = self->report,
                                           .stop = job->cancel,
                                           .pulse = job->pulse,
                                           .n_workers = 1};
    struct dlb_worker worker;
    rc = dlb_worker_open(&worker, &setup, err);
    if (rc == DLB_OK) {
        dlb_worker_begin_epoch(&worker, 0);
        rc = load(self, &worker, err);
    }
    dlb_worker_close(&worker);
    return rc;
}

static void resident_memory(void *ld, struct dlb_memory *out)
{
    struct resident *self = ld;
    *out = (struct dlb_memory){.addr = self->slots.payload.addr,
                               .n_bytes = self->slots.payload.n_bytes,
                               .slots_bytes = self->slots.payload.n_bytes,
                               .huge = self->slots.payload.huge};
}

static int resident_begin_epoch(void *ld, uint32_t epoch, struct dlb_err *err)
{
    struct resident *self = ld;
    (void)epoch;
    (void)err;
    self->batch = 0;
    return DLB_OK;
}

/* Whether it has delivered for long enough: copies and steps may take longer than was planned. */
static bool is_overdue(const struct resident *self, uint64_t now_ns)
{
    uint64_t least = MIN_DELIVERED * (1 + (uint64_t)self->job->n_others);
    return self->n_delivered >= least && now_ns - self->first_ns >= DELIVER_NS;
}

static int resident_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                         struct dlb_err *err)
{
    struct resident *self = ld;
    uint64_t now_ns = dlb_now_ns();
    (void)timeout_ns;
    (void)err;

    *got = false;
    if (self->first_ns == 0)
        self->first_ns = now_ns;
    if (self->batch == self->n_batches || is_overdue(self, now_ns))
        return DLB_END;
    bool is_short = self->n_short > 0 && self->batch + 1 == self->n_batches;
    uint32_t slot = is_short ? self->short_slot : (uint32_t)(self->batch % self->n_full);
    *out = dlb_slot_batch(&self->slots, slot, self->job->checksum);
    out->seq = self->batch++;
    self->n_delivered++;
    *got = true;
    return DLB_OK;
}

static void resident_release(void *ld, const struct dlb_batch *batch)
{
    (void)ld;
    (void)batch;
}

static int resident_stop(void *ld, struct dlb_err *err)
{
    (void)ld;
    (void)err;
    return DLB_OK;
}

static void resident_stats(void *ld, struct dlb_loader_stats *out)
{
    struct resident *self = ld;
    self->report->runqueue_ns[true] = DLB_NOT_MEASURED;
    dlb_worker_report_merge(out, self->report);
}

static void resident_close(void *ld)
{
    struct resident *self = ld;
    dlb_sampler_close(&self->sampler);
    dlb_slots_close(&self->slots);
    free(self->report);
}

const struct dlb_loader dlb_ld_resident = {
    .name = "resident",
    .summary = "a few batches, loaded at the start, again and again: for ceilings",
    .state_bytes = sizeof(struct resident),
    .start = resident_start,
    .memory = resident_memory,
    .begin_epoch = resident_begin_epoch,
    .next = resident_next,
    .release = resident_release,
    .stop = resident_stop,
    .stats = resident_stats,
    .close = resident_close,
};
