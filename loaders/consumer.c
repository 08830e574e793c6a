#include "loaders/consumer.h"

#include "bench/base/clock.h"
#include "bench/base/hash.h"
#include "loaders/tally.h"
#include "loaders/window.h"

#include <stdlib.h>
#include <string.h>

#define SLICE_NS (50 * DLB_NS_PER_MS) /* longest sleep without a look at `cancel` */
#define POLL_NS (50 * DLB_NS_PER_US)  /* longest sleep while a copy holds a slot */
enum { MAX_DEPTH = 8 };

/* A batch between its copy and its step's end. */
struct in_flight {
    struct dlb_step step;
    struct dlb_batch batch;
    bool released;
    uint32_t buf;
};

struct consumer {
    const struct dlb_consume *how;
    struct dlb_consumed *out;
    struct dlb_tally tally;
    struct dlb_window window;
    struct in_flight flight[MAX_DEPTH + 1]; /* oldest at first */
    uint32_t first, n_flight;
    uint64_t n_batches;     /* handed to the device, warm-up included */
    struct dlb_epoch spare; /* epochs beyond those kept */
    bool measuring;
    uint64_t loop_start_ns;
};

static void spend(struct consumer *c, enum dlb_consumer_stage stage, uint64_t start_ns,
                  uint64_t end_ns)
{
    if (c->measuring)
        dlb_hist_add(&c->out->consumer[stage], end_ns - start_ns);
}

static struct in_flight *flight_at(struct consumer *c, uint32_t i)
{
    return &c->flight[(c->first + i) % (MAX_DEPTH + 1)];
}

/* Gives back the slots whose copy is done; *held says how many are not. */
static int release_copied(struct consumer *c, uint32_t *held, struct dlb_err *err)
{
    const struct dlb_consume *how = c->how;

    *held = 0;
    for (uint32_t i = 0; i < c->n_flight; i++) {
        struct in_flight *f = flight_at(c, i);
        if (f->released)
            continue;
        int rc = how->device->poll(how->device_state, f->buf, DLB_COPIED, &f->released, err);
        if (rc != DLB_OK)
            return rc;
        if (f->released)
            how->loader->release(how->loader_state, &f->batch);
        else
            ++*held;
    }
    return DLB_OK;
}

static bool cancelled(const struct consumer *c)
{
    return c->how->cancel && atomic_load_explicit(c->how->cancel, memory_order_relaxed);
}

/* The next batch. Never sleeps long while a slot could be given back: one worker with one credit
 * may be waiting for it. */
static int take_batch(struct consumer *c, struct dlb_batch *batch, struct dlb_err *err)
{
    const struct dlb_consume *how = c->how;

    for (;;) {
        uint32_t held = 0;
        bool got = false;
        int rc = release_copied(c, &held, err);
        if (rc == DLB_OK)
            rc = how->loader->next(how->loader_state, held ? POLL_NS : SLICE_NS, batch, &got, err);
        if (rc != DLB_OK || got)
            return rc;
        if (cancelled(c))
            return dlb_fail(err, DLB_E_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    }
}

/* What the device made of a batch, as dlb_batch.made_hash. */
static int hash_made(struct consumer *c, const struct in_flight *f, uint64_t *hash,
                     struct dlb_err *err)
{
    const struct dlb_augment *augment = c->how->augment;
    const uint8_t *made = NULL;
    size_t n = 0;

    int rc = c->how->device->made(c->how->device_state, f->buf, &made, &n, err);
    *hash = 0;
    for (size_t i = 0; rc == DLB_OK && i < n; i++)
        *hash = dlb_hash64(made + i * augment->out_bytes, augment->out_bytes, *hash);
    return rc;
}

static int verify(struct consumer *c, const struct in_flight *f, struct dlb_err *err)
{
    uint64_t sum = 0, made = f->batch.made_hash;
    int rc = c->how->device->checksum(c->how->device_state, f->buf, &sum, err);
    if (rc == DLB_OK && c->how->augment && c->how->augment->kind != DLB_AUGMENT_NONE)
        rc = hash_made(c, f, &made, err);
    if (rc == DLB_OK && (sum != f->batch.payload_hash || made != f->batch.made_hash))
        c->out->n_checksum_mismatches++;
    return rc;
}

/* Sleeps until a step has ended, in slices, so that an interrupt ends a long one too. */
static int wait_stepped(struct consumer *c, struct in_flight *f, struct dlb_err *err)
{
    for (;;) {
        bool reached = false;
        int rc = c->how->device->wait(c->how->device_state, f->buf, DLB_STEPPED, SLICE_NS,
                                      &f->step.times, &reached, err);
        if (rc != DLB_OK || reached)
            return rc;
        if (cancelled(c))
            return dlb_fail(err, DLB_E_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    }
}

/* Waits for the oldest step and settles its account. */
static int finish_oldest(struct consumer *c, struct dlb_err *err)
{
    const struct dlb_consume *how = c->how;
    struct in_flight *f = flight_at(c, 0);

    uint64_t start_ns = dlb_now_ns();
    int rc = wait_stepped(c, f, err);
    uint64_t end_ns = dlb_now_ns();
    if (rc != DLB_OK)
        return rc;
    uint64_t over_ns = f->step.times.oversleep_ns < end_ns - start_ns ? f->step.times.oversleep_ns
                                                                      : end_ns - start_ns;
    spend(c, DLB_CS_DEVICE_WAIT, start_ns, end_ns - over_ns);
    if (over_ns > 0)
        spend(c, DLB_CS_OVERSLEEP, end_ns - over_ns, end_ns);

    start_ns = dlb_now_ns();
    if (!f->released)
        how->loader->release(how->loader_state, &f->batch);
    f->released = true;
    end_ns = dlb_now_ns();
    spend(c, DLB_CS_RELEASE, start_ns, end_ns);

    start_ns = dlb_now_ns();
    if (how->checksum)
        rc = verify(c, f, err);
    dlb_window_add(&c->window, &f->step, c->out);
    c->first = (c->first + 1) % (MAX_DEPTH + 1);
    c->n_flight--;
    spend(c, DLB_CS_ACCOUNT, start_ns, dlb_now_ns());
    return rc;
}

/* Hands a batch to the device, and then settles what must be settled before the next one: with
 * depth d, d steps stay queued. */
static int step_batch(struct consumer *c, const struct dlb_batch *batch, struct dlb_step *step,
                      struct dlb_epoch *epoch, struct dlb_err *err)
{
    const struct dlb_consume *how = c->how;
    uint32_t buf = (uint32_t)(c->n_batches % (how->device_prefetch + 1));

    uint64_t start_ns = dlb_now_ns();
    int rc = how->device->copy(how->device_state, buf, batch->data, batch->n_bytes, err);
    uint64_t end_ns = dlb_now_ns();
    spend(c, DLB_CS_COPY_CALL, start_ns, end_ns);
    if (rc != DLB_OK)
        return rc;
    start_ns = dlb_now_ns();
    rc = how->device->step(how->device_state, buf, err);
    end_ns = dlb_now_ns();
    spend(c, DLB_CS_STEP_CALL, start_ns, end_ns);
    if (rc != DLB_OK)
        return rc;

    start_ns = dlb_now_ns(); /* the device is at work: bookkeeping hides behind it */
    step->n_samples = batch->n_samples;
    step->n_bytes = batch->n_bytes;
    *flight_at(c, c->n_flight) = (struct in_flight){.step = *step, .batch = *batch, .buf = buf};
    c->n_flight++;
    c->n_batches++;
    if (how->heartbeat)
        atomic_store_explicit(how->heartbeat, c->n_batches, memory_order_relaxed);
    rc = dlb_tally_add(&c->tally, batch, epoch, err);
    spend(c, DLB_CS_ACCOUNT, start_ns, dlb_now_ns());
    while (rc == DLB_OK && c->n_flight > how->device_prefetch)
        rc = finish_oldest(c, err);
    return rc;
}

static void begin_measuring(struct consumer *c)
{
    if (c->measuring || c->n_batches < c->how->warmup_batches)
        return;
    c->measuring = true;
    c->loop_start_ns = dlb_now_ns();
}

/* max_batches measured ones, and the one whose start closes the window. */
static bool enough(const struct consumer *c)
{
    return c->how->max_batches > 0 && c->n_batches > c->how->warmup_batches + c->how->max_batches;
}

static int run_epoch(struct consumer *c, uint32_t number, struct dlb_err *err)
{
    const struct dlb_consume *how = c->how;
    struct dlb_epoch *epoch = number < DLB_MAX_EPOCHS_KEPT ? &c->out->epoch[number] : &c->spare;
    struct dlb_step step = {.epoch = number, .first_of_epoch = true};

    *epoch = (struct dlb_epoch){.n_expected = how->expected};
    c->out->n_epochs = number + 1;
    begin_measuring(c);
    uint64_t epoch_start_ns = dlb_now_ns();
    int rc = how->loader->begin_epoch(how->loader_state, number, err);
    dlb_tally_reset(&c->tally);
    spend(c, DLB_CS_EPOCH_START, epoch_start_ns, dlb_now_ns());
    while (rc == DLB_OK && !enough(c)) {
        struct dlb_batch batch;
        begin_measuring(c);
        step.wait_start_ns = dlb_now_ns();
        rc = take_batch(c, &batch, err);
        step.wait_end_ns = dlb_now_ns();
        spend(c, DLB_CS_INPUT_WAIT, step.wait_start_ns, step.wait_end_ns);
        if (rc == DLB_END) {
            epoch->whole = true;
            rc = DLB_OK;
            break;
        }
        if (rc != DLB_OK)
            break;
        if (epoch->first_batch_ns == 0)
            epoch->first_batch_ns = step.wait_end_ns - epoch_start_ns;
        if (batch.n_samples == 0) { /* every sample of it was skipped: nothing to train on */
            how->loader->release(how->loader_state, &batch);
            continue;
        }
        rc = step_batch(c, &batch, &step, epoch, err);
        step.first_of_epoch = false;
        if (rc == DLB_OK && cancelled(c))
            rc = dlb_fail(err, DLB_E_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    }
    epoch->wall_ns = dlb_now_ns() - epoch_start_ns;
    return rc;
}

/* Unaccounted time is what no stage's own start and stop stamps cover. */
static void close_account(struct consumer *c)
{
    uint64_t covered_ns = 0;

    if (!c->measuring)
        return;
    c->out->wall_ns = dlb_now_ns() - c->loop_start_ns;
    for (int s = 0; s < DLB_CS_COUNT; s++)
        covered_ns += c->out->consumer[s].sum_ns;
    c->out->unaccounted_ns = c->out->wall_ns > covered_ns ? c->out->wall_ns - covered_ns : 0;
}

int dlb_consume(const struct dlb_consume *how, struct dlb_consumed *out, struct dlb_err *err)
{
    memset(out, 0, sizeof *out);
    if (how->device_prefetch > MAX_DEPTH)
        return dlb_fail(err, DLB_E_CONFIG, NULL, DLB_NO_OFFSET, "device.prefetch %u is over %d",
                        how->device_prefetch, (int)MAX_DEPTH);
    struct consumer *c = calloc(1, sizeof *c);
    if (!c)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "starting the consumer");
    c->how = how;
    c->out = out;
    dlb_window_open(&c->window, how->warmup_batches);
    int rc = dlb_tally_open(&c->tally, how->n_samples, err);
    for (uint32_t e = 0; rc == DLB_OK && e < how->n_epochs && !enough(c); e++)
        rc = run_epoch(c, e, err);
    while (rc == DLB_OK && c->n_flight > 0)
        rc = finish_oldest(c, err);
    close_account(c);
    dlb_tally_close(&c->tally);
    free(c);
    return rc;
}
