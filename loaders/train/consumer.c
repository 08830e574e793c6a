#include "loaders/train/consumer.h"

#include "core/base/burn.h"
#include "core/base/clock.h"
#include "loaders/train/accelerator.h"

#include <stdlib.h>
#include <string.h>

struct consumer {
    struct dlb_common common;
    struct dlb_accelerator *accelerators; /* [n] */
    uint32_t n;
    uint32_t first;         /* the accelerator that is advanced first */
    struct dlb_epoch spare; /* epochs beyond those kept */
    struct dlb_au *au;      /* [n] */
    struct dlb_share *each; /* [n] */
    struct dlb_pace *paces; /* [n] */
};

/* The result of a pass over all accelerators. */
struct pass {
    uint32_t n_going;
    uint64_t wake_ns; /* the earliest time that one can go on; 0: now */
    bool watch;       /* a device runs dry if the thread wakes up late */
    bool wants;       /* an accelerator waits for a batch, or all for other ranks */
};

/* True while the accelerator only waits for a step that has not ended. */
static bool sleeps(const struct dlb_accelerator *a, uint64_t now_ns)
{
    return a->at == DLB_AT_SETTLE && a->wake_ns > now_ns;
}

/* Advances each accelerator that can go on. With a shared loader the one after the last that got a
 * batch comes first, so that batches go round. */
static int pass_all(struct consumer *c, struct pass *pass, struct dlb_err *err)
{
    uint64_t now_ns = dlb_now_ns(), dry_ns = UINT64_MAX;
    uint64_t round = c->common.barrier.round;
    uint32_t first = c->first;
    dlb_barrier_look(&c->common.barrier);
    bool cancelled = dlb_consume_cancelled(c->common.how); /* dlb_accelerator_advance reports it */

    *pass = (struct pass){.wake_ns = UINT64_MAX};
    for (uint32_t i = 0; i < c->n; i++) {
        struct dlb_accelerator *a = &c->accelerators[(first + i) % c->n];
        if (!sleeps(a, now_ns) || cancelled) {
            uint64_t n_batches = a->n_batches;
            int rc = dlb_accelerator_advance(a, 0, err);
            if (rc != DLB_OK)
                return rc;
            if (c->common.shared && a->n_batches > n_batches)
                c->first = (first + i + 1) % c->n;
        }
        if (a->at == DLB_AT_ENDED)
            continue;
        pass->n_going++;
        pass->wants = pass->wants || a->at == DLB_AT_TAKE;
        if (a->wake_ns < pass->wake_ns)
            pass->wake_ns = a->wake_ns;
        if (a->at == DLB_AT_SETTLE && a->dry_ns < dry_ns)
            dry_ns = a->dry_ns;
    }
    pass->wants = pass->wants || c->common.barrier.asks;
    if (c->common.barrier.round != round)
        pass->wake_ns = 0;
    pass->watch = dry_ns < UINT64_MAX && dry_ns - DLB_WATCH_NS < pass->wake_ns;
    return DLB_OK;
}

/* Sleeps until the earliest time of the pass, or until a batch is ready if an accelerator waits for
 * one. It spins at the end only if a device would run dry by a late wake-up. */
static void sleep_all(struct dlb_event *ready, uint32_t seen, const struct pass *pass)
{
    uint64_t now_ns = dlb_now_ns();
    uint64_t end_ns = now_ns + DLB_SLICE_NS;
    bool watch = pass->watch && pass->wake_ns < end_ns;

    if (pass->wake_ns < end_ns)
        end_ns = pass->wake_ns;
    uint64_t sleep_ns = watch ? end_ns - DLB_WATCH_NS : end_ns;
    if (now_ns < sleep_ns && pass->wants)
        dlb_event_wait(ready, seen, sleep_ns);
    else if (now_ns < sleep_ns)
        (void)dlb_sleep_until_ns(sleep_ns);
    while (watch && dlb_now_ns() < end_ns && !(pass->wants && dlb_event_seq(ready) != seen))
        ;
}

/* Runs until every accelerator is at DLB_AT_ENDED. A single one blocks inside its advance; with
 * several, and where other ranks are waited for, the thread sleeps here. */
static int drive(struct consumer *c, struct dlb_err *err)
{
    struct dlb_event *ready = c->common.how->ready;
    int rc = DLB_OK;

    while (!ready && rc == DLB_OK && c->accelerators->at != DLB_AT_ENDED)
        rc = dlb_accelerator_advance(c->accelerators, DLB_SLICE_NS, err);
    while (ready && rc == DLB_OK) {
        struct pass pass;
        uint32_t seen = dlb_event_seq(ready);
        rc = pass_all(c, &pass, err);
        if (rc != DLB_OK || pass.n_going == 0)
            break;
        if (pass.wake_ns > 0)
            sleep_all(ready, seen, &pass);
    }
    return rc;
}

static int begin_epoch(struct consumer *c, uint32_t number, struct dlb_err *err)
{
    struct dlb_common *common = &c->common;
    const struct dlb_consume *how = common->how;
    struct dlb_epoch *epoch =
        number < DLB_MAX_EPOCHS_KEPT ? &common->out->epoch[number] : &c->spare;
    int rc = DLB_OK;

    *epoch = (struct dlb_epoch){.n_expected = how->expected, .n_padded = how->padded};
    common->epoch = epoch;
    common->out->n_epochs = number + 1;
    for (uint32_t i = 0; i < c->n; i++)
        dlb_accelerator_before_epoch(&c->accelerators[i]);
    common->epoch_start_ns = dlb_now_ns();
    for (uint32_t i = 0; i < (common->shared ? 1 : c->n) && rc == DLB_OK; i++)
        rc = how->loader->begin_epoch(how->feeds[i].loader_state, number, err);
    if (rc != DLB_OK)
        return rc;
    dlb_tally_reset(&common->tally);
    dlb_barrier_reset(&common->barrier, c->n);
    uint64_t now_ns = dlb_now_ns();
    for (uint32_t i = 0; i < c->n; i++)
        dlb_accelerator_begin_epoch(&c->accelerators[i], number, now_ns);
    return DLB_OK;
}

static int run_epoch(struct consumer *c, uint32_t number, struct dlb_err *err)
{
    int rc = begin_epoch(c, number, err);
    struct dlb_epoch *epoch = c->common.epoch;

    if (rc == DLB_OK)
        rc = drive(c, err);
    if (rc == DLB_OK && !dlb_barrier_settle(&c->common.barrier, c->common.how->cancel))
        rc = dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    epoch->ended = rc == DLB_OK;
    for (uint32_t i = 0; i < c->n; i++) {
        epoch->ended = epoch->ended && c->accelerators[i].ended;
        epoch->seq_checksum = dlb_tally_chain(epoch->seq_checksum, c->accelerators[i].order);
    }
    if (c->common.how->expected == 0) /* it is not known: what came is what there was */
        epoch->n_expected = epoch->n_samples;
    epoch->whole = epoch->ended && epoch->n_skipped == 0 && epoch->n_samples >= epoch->n_expected;
    epoch->wall_ns = dlb_now_ns() - c->common.epoch_start_ns;
    return rc;
}

static int drain(struct consumer *c, struct dlb_err *err)
{
    for (uint32_t i = 0; i < c->n; i++)
        dlb_accelerator_drain(&c->accelerators[i]);
    return drive(c, err);
}

/* Adds up what the accelerators measured. */
static void add_up(struct consumer *c)
{
    struct dlb_consumed *out = c->common.out;
    struct dlb_share *total = &out->total;

    if (c->n == 0)
        DLB_BUG("a run without accelerators");
    out->n_accelerators = c->n;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct dlb_share *one = &c->accelerators[i].window.share;
        dlb_accelerator_close(&c->accelerators[i]);
        c->each[i] = *one;
        c->au[i] = one->au;
        c->paces[i] = c->accelerators[i].window.pace;
        if (i < DLB_SHARES_KEPT)
            out->share[i] = *one;
    }
    dlb_shares_add_up(c->each, NULL, c->n, total);
    dlb_paces_add_up(c->paces, NULL, c->n, &out->pace);
    dlb_au_mean(c->au, c->n, &total->au, &out->lowest);
}

static int check(const struct dlb_consume *how, struct dlb_err *err)
{
    if (how->device_prefetch > DLB_MAX_DEPTH)
        return dlb_fail(err, DLB_ERR_DEVICE_PREFETCH_TOO_LARGE, NULL, DLB_NO_OFFSET,
                        "device.prefetch %u is over %d", how->device_prefetch, (int)DLB_MAX_DEPTH);
    if (how->n_feeds > 1 && how->host_ns > 0)
        return dlb_fail(err, DLB_ERR_HOST_PART_OF_ONE, NULL, DLB_NO_OFFSET,
                        "device.host_busy_frac needs accelerators.count = 1: one thread drives "
                        "%u accelerators here, each of which would have a process of its own",
                        how->n_feeds);
    if ((how->n_feeds > 1 || (how->meet && how->barrier)) && !how->ready)
        DLB_BUG("many accelerators need something to sleep on");
    if (how->ready && !how->device->due)
        DLB_BUG("many accelerators need a timeline");
    return DLB_OK;
}

static int begin(struct consumer *c, const struct dlb_consume *how, struct dlb_consumed *out,
                 struct dlb_err *err)
{
    c->n = how->n_feeds;
    c->accelerators = calloc(c->n, sizeof *c->accelerators);
    c->au = calloc(c->n, sizeof *c->au);
    c->each = calloc(c->n, sizeof *c->each);
    c->paces = calloc(c->n, sizeof *c->paces);
    if (!c->accelerators || !c->au || !c->each || !c->paces)
        return dlb_fail_memory(err, NULL, c->n * (sizeof *c->accelerators + sizeof *c->au));
    c->common = (struct dlb_common){.how = how,
                                    .out = out,
                                    .shared = c->n > 1 && how->feeds[0].loader_state ==
                                                              how->feeds[1].loader_state,
                                    .barrier.meet = how->barrier ? how->meet : NULL,
                                    .others.meet = how->barrier ? NULL : how->meet,
                                    .n_short = c->n};
    for (uint32_t i = 0; i < c->n; i++)
        dlb_accelerator_open(&c->accelerators[i], &c->common, &how->feeds[i]);
    return dlb_tally_open(&c->common.tally, how->n_samples, err);
}

/* Whether there is an epoch to begin. In the next one an accelerator that trains on for other ranks
 * would read what these have not read yet. */
static bool has_more(const struct consumer *c, uint32_t number)
{
    const struct dlb_common *common = &c->common;
    bool stays = common->how->cold && common->n_short == 0;
    return number < common->how->n_epochs && !stays && !dlb_common_is_done(common);
}

/* Whether all ranks loaded until all had measured. */
static bool was_together(const struct consumer *c)
{
    const struct dlb_common *common = &c->common;
    return !common->how->meet->alone && (common->how->barrier || dlb_common_is_done(common));
}

int dlb_consume(const struct dlb_consume *how, struct dlb_consumed *out, struct dlb_err *err)
{
    memset(out, 0, sizeof *out);
    int rc = check(how, err);
    if (rc != DLB_OK)
        return rc;
    struct consumer *c = calloc(1, sizeof *c);
    if (!c)
        return dlb_fail_memory(err, NULL, sizeof *c);
    rc = begin(c, how, out, err);
    bool opened = rc == DLB_OK;
    uint64_t cpu_start_ns = dlb_thread_cpu_ns();
    for (uint32_t e = 0; rc == DLB_OK && has_more(c, e); e++)
        rc = run_epoch(c, e, err);
    if (how->meet)
        how->meet->together = rc == DLB_OK && was_together(c);
    if (rc == DLB_OK)
        rc = drain(c, err);
    if (opened) {
        out->cpu_ns = dlb_thread_cpu_ns() - cpu_start_ns;
        add_up(c);
    }
    dlb_tally_close(&c->common.tally);
    for (uint32_t i = 0; c->accelerators && i < c->n; i++)
        dlb_accelerator_free(&c->accelerators[i]);
    free(c->accelerators);
    free(c->au);
    free(c->each);
    free(c->paces);
    free(c);
    return rc;
}
