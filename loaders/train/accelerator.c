#include "loaders/train/accelerator.h"

#include "core/base/clock.h"
#include "loaders/train/elsewhere.h"
#include "loaders/train/host_part.h"
#include "loaders/train/show.h"
#include "loaders/train/verify.h"

#define POLL_NS                                                                                    \
    (50 * DLB_NS_PER_US) /* longest sleep while a copy holds a slot and its end is unknown */

void dlb_accelerator_open(struct dlb_accelerator *a, struct dlb_common *common,
                          const struct dlb_feed *feed)
{
    const struct dlb_consume *how = common->how;

    *a = (struct dlb_accelerator){
        .common = common, .feed = feed, .at = DLB_AT_ENDED, .n_keep = how->device_prefetch};
    a->span = (struct dlb_span){
        .n_warmup = how->warmup_batches, .n_measured = how->max_batches, .round = how->round};
    dlb_window_open(&a->window, &(struct dlb_window_opts){.round = how->round,
                                                          .n_workers = how->n_workers,
                                                          .n_epoch_batches = how->n_epoch_batches,
                                                          .step_ns = how->step_ns});
    dlb_recorder_open(&a->recorder, how->trace, (uint32_t)(feed - how->feeds));
    a->account = (struct dlb_account){.stage = common->out->consumer, .loop = a->recorder.loop};
}

static void spend(struct dlb_accelerator *a, enum dlb_consumer_stage stage, uint64_t start_ns,
                  uint64_t end_ns)
{
    dlb_account_spend(&a->account, stage, start_ns, end_ns);
}

static struct dlb_flight *flight_at(struct dlb_accelerator *a, uint32_t i)
{
    return &a->flight[(a->first + i) % (DLB_MAX_DEPTH + 1)];
}

/* A loader that several share measures while any of them does. */
static void tell_loader(struct dlb_accelerator *a, bool opens)
{
    const struct dlb_loader *loader = a->common->how->loader;
    uint32_t n_before = a->common->n_measuring;

    a->common->n_measuring = opens ? n_before + 1 : n_before - 1;
    bool is_other = a->common->shared && (opens ? n_before : n_before - 1) > 0;
    if (loader->measure && !is_other)
        loader->measure(a->feed->loader_state, opens);
}

static void begin_measuring(struct dlb_accelerator *a)
{
    const struct dlb_account *account = &a->account;

    if (account->open || account->closed || a->n_batches < a->common->how->warmup_batches)
        return;
    tell_loader(a, true);
    dlb_account_begin(&a->account, dlb_now_ns());
}

static void end_measuring(struct dlb_accelerator *a)
{
    if (!a->account.open)
        return;
    dlb_account_end(&a->account, dlb_now_ns(), &a->window.share);
    tell_loader(a, false);
}

/* Goes on to the next batch; its wait starts at the end of the last stage. With the first measured
 * batch the account opens. */
static void want_batch(struct dlb_accelerator *a)
{
    begin_measuring(a);
    a->at = DLB_AT_TAKE;
    if (a->since_ns < a->account.start_ns)
        a->since_ns = a->account.start_ns;
}

/* Counts the time between epochs: the loader begins the next one; before that, with several
 * accelerators, the others end theirs. */
static void spend_between(struct dlb_accelerator *a, uint64_t now_ns)
{
    uint64_t from_ns = a->since_ns > a->account.start_ns ? a->since_ns : a->account.start_ns;

    if (!a->common->how->ready)
        from_ns = a->common->epoch_start_ns;
    spend(a, DLB_CS_EPOCH_START, from_ns, now_ns);
}

void dlb_accelerator_before_epoch(struct dlb_accelerator *a)
{
    begin_measuring(a);
}

void dlb_accelerator_begin_epoch(struct dlb_accelerator *a, uint32_t number, uint64_t now_ns)
{
    spend_between(a, now_ns);
    a->step = (struct dlb_step){.epoch = number,
                                .first_of_epoch = true,
                                .over_start_ns = a->step.over_start_ns,
                                .over_end_ns = a->step.over_end_ns};
    a->round = 0;
    a->order = 0;
    a->has_first = a->ended = false;
    a->wake_ns = 0;
    a->since_ns = now_ns;
    want_batch(a);
}

void dlb_accelerator_drain(struct dlb_accelerator *a)
{
    uint64_t now_ns = dlb_now_ns();

    if (a->common->how->ready)
        spend(a, DLB_CS_EPOCH_START, a->since_ns, now_ns);
    a->draining = true;
    a->n_keep = 0;
    a->at = DLB_AT_SETTLE;
    a->wake_ns = 0;
    a->since_ns = now_ns;
}

/* Gives back the slots whose copy has ended. *held is how many slots are still being copied.
 * *copied_ns is when the first of those copies will end, if the device knows (else 0). */
static int release_copied(struct dlb_accelerator *a, uint32_t *held, uint64_t *copied_ns,
                          struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;

    *held = 0;
    *copied_ns = UINT64_MAX;
    for (uint32_t i = 0; i < a->n_flight; i++) {
        struct dlb_flight *f = flight_at(a, i);
        if (f->released)
            continue;
        int rc = how->device->poll(a->feed->device_state, f->buf, DLB_COPIED, &f->released, err);
        if (rc != DLB_OK)
            return rc;
        if (f->released) {
            how->loader->release(a->feed->loader_state, &f->batch);
            continue;
        }
        ++*held;
        uint64_t due_ns =
            how->device->due ? how->device->due(a->feed->device_state, f->buf, DLB_COPIED) : 0;
        if (due_ns < *copied_ns)
            *copied_ns = due_ns;
    }
    return DLB_OK;
}

/* The device may have been idle while next() found that the epoch has no more batches. That wait
 * belongs to the next step, too. Waits of epochs without a step are added to it. */
static void keep_last_wait(struct dlb_step *step)
{
    uint64_t earlier_ns = step->over_end_ns - step->over_start_ns;

    step->over_start_ns = step->wait_start_ns - earlier_ns;
    step->over_end_ns = step->wait_end_ns;
}

static void end_epoch(struct dlb_accelerator *a)
{
    struct dlb_barrier *barrier = &a->common->barrier;

    if (a->common->how->barrier)
        dlb_barrier_leave(barrier, a->round > barrier->round);
    a->since_ns = dlb_now_ns();
    a->at = DLB_AT_ENDED;
}

/* Of a batch that another process has copied: what the device makes its samples of. */
static size_t elsewhere_bytes(const struct dlb_accelerator *a)
{
    const struct dlb_augment *augment = a->common->how->augment;

    return augment && augment->kind != DLB_AUGMENT_NONE
               ? (size_t)a->batch.n_samples * augment->in_bytes
               : 0;
}

/* Starts the copy at once, even if the step has to wait: after the copy the slot can be filled
 * again. */
static int hand_over(struct dlb_accelerator *a, struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;
    uint32_t buf = (uint32_t)(a->n_batches % (how->device_prefetch + 1));

    size_t n_bytes = how->loader->elsewhere ? elsewhere_bytes(a) : a->batch.n_bytes;
    int rc = how->device->copy(a->feed->device_state, buf, a->batch.data, n_bytes, err);
    *flight_at(a, a->n_flight) = (struct dlb_flight){.batch = a->batch, .buf = buf};
    a->since_ns = dlb_now_ns();
    spend(a, DLB_CS_COPY_CALL, a->step.wait_end_ns, a->since_ns);
    if (rc != DLB_OK)
        return rc;
    a->step.mark = dlb_span_next(&a->span, a->round);
    a->step.nth = a->round;
    a->step.worker = a->batch.worker;
    a->step.ready_ns = a->batch.ready_ns;
    a->n_flight++;
    a->n_batches++;
    a->counted = false;
    a->at = DLB_AT_STEP;
    return DLB_OK;
}

/* How long next() may block while a copy holds a slot. */
static uint64_t while_copying_ns(const struct dlb_device *device, uint64_t copied_ns)
{
    uint64_t now_ns = dlb_now_ns();

    if (!device->due)
        return POLL_NS;
    return copied_ns > now_ns ? copied_ns - now_ns : 0;
}

/* Takes the next batch, if there is one. A single accelerator does not sleep longer than until a
 * slot can be given back: a worker may be waiting for that slot. */
static int take(struct dlb_accelerator *a, uint64_t patience_ns, bool *moved, struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;
    struct dlb_epoch *epoch = a->common->epoch;
    uint32_t held = 0;
    bool got = false;

    int rc = release_copied(a, &held, &a->wake_ns, err);
    uint64_t limit_ns = held > 0 ? while_copying_ns(how->device, a->wake_ns) : patience_ns;
    /* First find out whether the batch was ready when it was requested. */
    if (!a->step.late && !how->loader->elsewhere)
        limit_ns = 0;
    dlb_elsewhere_foresee(a);
    if (rc == DLB_OK)
        rc = how->loader->next(a->feed->loader_state,
                               limit_ns < patience_ns ? limit_ns : patience_ns, &a->batch, &got,
                               err);
    if (rc == DLB_OK && !got) {
        a->step.late = true;
        return DLB_OK;
    }
    *moved = true;
    if (a->step.wait_start_ns == 0) /* else the wait began before a batch that was skipped */
        a->step.wait_start_ns = a->since_ns;
    a->step.wait_end_ns = dlb_now_ns();
    if (rc == DLB_OK && how->loader->elsewhere)
        dlb_elsewhere_taken(a);
    if (rc == DLB_OK)
        dlb_recorder_taken(&a->recorder, &a->step, &a->batch);
    else
        dlb_recorder_at(&a->recorder, a->step.epoch, NULL);
    spend(a, DLB_CS_INPUT_WAIT, a->since_ns, a->step.wait_end_ns);
    if (rc == DLB_END) {
        a->ended = true;
        keep_last_wait(&a->step);
        end_epoch(a);
        return DLB_OK;
    }
    if (rc != DLB_OK)
        return rc;
    if (!a->has_first && a->step.wait_end_ns - a->common->epoch_start_ns > epoch->first_batch_ns)
        epoch->first_batch_ns = a->step.wait_end_ns - a->common->epoch_start_ns;
    a->has_first = true;
    epoch->n_skipped += a->batch.n_skipped;
    if (a->batch.n_samples == 0) { /* all samples were skipped: nothing to train on */
        how->loader->release(a->feed->loader_state, &a->batch);
        a->since_ns = a->step.wait_end_ns;
        want_batch(a);
        return DLB_OK;
    }
    return hand_over(a, err);
}

/* Counts the batch before its slot is given back. */
static int account(struct dlb_accelerator *a, struct dlb_err *err)
{
    struct dlb_common *common = a->common;
    uint64_t start_ns = a->since_ns;

    common->n_batches++;
    if (common->how->heartbeat)
        atomic_store_explicit(common->how->heartbeat, common->n_batches, memory_order_relaxed);
    int rc = dlb_tally_add(&common->tally, &a->batch, common->epoch, &a->order, err);
    a->counted = true;
    a->since_ns = dlb_now_ns();
    spend(a, DLB_CS_ACCOUNT, start_ns, a->since_ns);
    return rc;
}

/* At the barrier: counts the batch and gives back slots while other accelerators are waited for. */
static int hold(struct dlb_accelerator *a, struct dlb_err *err)
{
    uint32_t held = 0;
    int rc = a->counted ? DLB_OK : account(a, err);

    return rc == DLB_OK ? release_copied(a, &held, &a->wake_ns, err) : rc;
}

/* Slots are given back meanwhile, as a program's queues go on. */
static int spend_host(struct dlb_accelerator *a, struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;
    uint64_t start_ns = a->since_ns, ignored;
    uint32_t held = 1;
    int rc = DLB_OK;

    if (how->host_ns <= 0)
        return DLB_OK;
    a->host_ns += how->host_ns;
    while (rc == DLB_OK && dlb_host_slice(how, held > 0, &a->host_ns))
        rc = release_copied(a, &held, &ignored, err);
    a->since_ns = dlb_now_ns();
    spend(a, DLB_CS_HOST, start_ns, a->since_ns);
    return rc;
}

/* Starts the step of the batch that was copied last, if the barrier allows it. The batch is counted
 * after the start, while the device computes. */
static int step(struct dlb_accelerator *a, bool *moved, struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;
    struct dlb_barrier *barrier = &a->common->barrier;
    struct dlb_flight *f = flight_at(a, a->n_flight - 1);
    void *device = a->feed->device_state;

    if (how->barrier && a->round > barrier->round)
        return hold(a, err);
    *moved = true;
    uint64_t start_ns = a->since_ns;
    if (how->barrier) {
        start_ns = dlb_now_ns();
        spend(a, DLB_CS_BARRIER, a->since_ns, start_ns);
        how->device->hold(device, barrier->last_end_ns);
        a->step.held_until_ns = barrier->last_end_ns;
        a->step.held_input_ns = barrier->last_input_ns;
    }
    int rc = how->device->step(device, f->buf, err);
    a->since_ns = dlb_now_ns();
    spend(a, DLB_CS_STEP_CALL, start_ns, a->since_ns);
    if (rc != DLB_OK)
        return rc;
    a->step.n_samples = a->batch.n_samples;
    a->step.n_bytes = a->batch.n_bytes;
    dlb_train_show(how, a->feed, f->buf, &a->step, a->since_ns);
    f->step = a->step;
    a->step = (struct dlb_step){.epoch = f->step.epoch};
    a->at = DLB_AT_SETTLE;
    a->round++;
    if (how->barrier)
        dlb_barrier_pass(barrier, f->step.wait_start_ns, f->step.wait_end_ns,
                         how->device->due(device, f->buf, DLB_STEPPED));
    if (!a->counted)
        rc = account(a, err);
    return rc == DLB_OK ? spend_host(a, err) : rc;
}

/* The oldest step has ended: counts its stages, releases its slot and adds it to the window. */
static int finish_oldest(struct dlb_accelerator *a, struct dlb_flight *f, uint64_t end_ns,
                         struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;
    uint64_t over_ns = f->step.times.oversleep_ns, waited_ns = end_ns - a->since_ns;
    int rc = DLB_OK;

    dlb_recorder_at(&a->recorder, f->step.epoch, &f->batch);
    if (over_ns > waited_ns)
        over_ns = waited_ns;
    spend(a, DLB_CS_DEVICE_WAIT, a->since_ns, end_ns - over_ns);
    if (over_ns > 0)
        spend(a, DLB_CS_OVERSLEEP, end_ns - over_ns, end_ns);
    if (!f->released)
        how->loader->release(a->feed->loader_state, &f->batch);
    f->released = true;
    uint64_t start_ns = end_ns;
    end_ns = dlb_now_ns();
    spend(a, DLB_CS_RELEASE, start_ns, end_ns);
    if (how->checksum)
        rc = dlb_verify_batch(how, a->feed->device_state, f->buf, &f->batch,
                              &a->common->out->n_checksum_mismatches, err);
    dlb_recorder_stepped(&a->recorder, &f->step, &f->batch);
    dlb_window_add(&a->window, &f->step, a->common->out);
    a->first = (a->first + 1) % (DLB_MAX_DEPTH + 1);
    a->n_flight--;
    a->since_ns = dlb_now_ns();
    spend(a, DLB_CS_ACCOUNT, end_ns, a->since_ns);
    return rc;
}

/* True when all accelerators have enough batches: the last one's start closes the window. An
 * accelerator that has enough goes on until all have, those of other ranks, too. With several, its
 * account ends in the middle of a wait, in which the thread may have worked for the others. */
static bool enough(struct dlb_accelerator *a)
{
    const struct dlb_consume *how = a->common->how;

    if (how->max_batches == 0)
        return false;
    if (a->span.closed && !a->has_enough) {
        a->has_enough = true;
        if (how->ready) {
            uint64_t now_ns = dlb_now_ns();
            spend(a, DLB_CS_INPUT_WAIT, a->since_ns, now_ns);
            a->since_ns = now_ns;
        }
        if (--a->common->n_short == 0)
            dlb_others_tell(&a->common->others);
        if (!dlb_common_is_done(a->common))
            end_measuring(a);
    }
    return dlb_common_is_done(a->common);
}

/* Sets the time when to look again. */
static int settle_later(struct dlb_accelerator *a, struct dlb_err *err)
{
    const struct dlb_device *device = a->common->how->device;
    uint64_t copied_ns = UINT64_MAX;
    uint32_t held = 0;
    int rc = a->common->shared ? release_copied(a, &held, &copied_ns, err) : DLB_OK;

    a->wake_ns = device->due(a->feed->device_state, flight_at(a, 0)->buf, DLB_STEPPED);
    a->dry_ns = device->due(a->feed->device_state, flight_at(a, a->n_flight - 1)->buf, DLB_STEPPED);
    if (copied_ns < a->wake_ns)
        a->wake_ns = copied_ns;
    return rc;
}

/* Goes on to the next batch if few enough steps are queued, else waits for the oldest step. */
static int settle(struct dlb_accelerator *a, uint64_t patience_ns, bool *moved, struct dlb_err *err)
{
    const struct dlb_consume *how = a->common->how;
    void *device = a->feed->device_state;
    bool reached = false;

    if (a->n_flight <= a->n_keep) {
        *moved = true;
        a->wake_ns = 0;
        if (!a->draining) {
            want_batch(a);
        } else {
            end_measuring(a);
            a->at = DLB_AT_ENDED;
        }
        return DLB_OK;
    }
    struct dlb_flight *f = flight_at(a, 0);
    int rc =
        how->device->wait(device, f->buf, DLB_STEPPED, patience_ns, &f->step.times, &reached, err);
    if (rc != DLB_OK)
        return rc;
    uint64_t now_ns = dlb_now_ns();
    if (reached) {
        const struct dlb_dev_times *times = &f->step.times;
        if (how->loader->elsewhere)
            dlb_elsewhere_copied(&f->batch, &f->step.times);
        if (patience_ns == 0 && times->step_end_ns > a->since_ns && now_ns > times->step_end_ns)
            f->step.times.oversleep_ns = now_ns - times->step_end_ns;
        *moved = true;
        return finish_oldest(a, f, now_ns, err);
    }
    return patience_ns == 0 ? settle_later(a, err) : DLB_OK;
}

int dlb_accelerator_advance(struct dlb_accelerator *a, uint64_t patience_ns, struct dlb_err *err)
{
    bool moved = true;
    uint64_t n_batches = a->n_batches;
    int rc = DLB_OK;

    while (rc == DLB_OK && moved && a->at != DLB_AT_ENDED) {
        if (dlb_consume_cancelled(a->common->how))
            return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
        if (a->at == DLB_AT_TAKE && a->n_batches > n_batches)
            break;
        moved = false;
        if (a->at == DLB_AT_TAKE && enough(a))
            end_epoch(a);
        else if (a->at == DLB_AT_TAKE)
            rc = take(a, patience_ns, &moved, err);
        else if (a->at == DLB_AT_STEP)
            rc = step(a, &moved, err);
        else
            rc = settle(a, patience_ns, &moved, err);
    }
    return rc;
}

void dlb_accelerator_close(struct dlb_accelerator *a)
{
    end_measuring(a);
    dlb_window_close(&a->window, a->common->out);
    dlb_recorder_close(&a->recorder, &a->window);
}

void dlb_accelerator_free(struct dlb_accelerator *a)
{
    dlb_window_free(&a->window);
}
