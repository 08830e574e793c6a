/* The emulated accelerator: a virtual timeline, without a thread.
 *
 * Each engine (copy, compute) has a time when it is free again. An operation starts when it is
 * called, its engine is free and the operation before it has ended, whichever is latest. It ends a
 * modelled duration later, and a wait sleeps until that time. Copies and steps overlap as on a GPU.
 * An operation costs a few hundred nanoseconds, so one host can emulate many accelerators. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/rng.h"
#include "loaders/device/device.h"
#include "loaders/device/step_time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PINNED = 4, BOUNCE_BYTES = 1 << 20 };

struct buffer {
    struct dlb_dev_times times;
    size_t n_bytes;     /* of the last copy */
    size_t n_augmented; /* bytes that the step makes its samples of */
    uint8_t *kept;      /* the bytes themselves; with keep_bytes only */
};

struct emulated {
    const struct dlb_device_profile *profile;
    const struct dlb_device_opts *opts;
    bool copy_on_compute;
    struct dlb_rng rng;
    double pinned_bytes_per_s, pageable_bytes_per_s;
    uint64_t copy_ns;                       /* fixed cost of a copy */
    uint64_t copy_free_ns, compute_free_ns; /* when each engine is free again */
    uint32_t n_bufs;
    size_t buf_bytes;
    struct buffer *bufs;
    uint8_t *bounce;                   /* staging memory of pageable copies, as a driver has */
    const struct dlb_augment *augment; /* NULL: steps make nothing of their batches */
    uint8_t *made;                     /* of one batch; with keep_bytes only */
    struct {
        const uint8_t *addr;
        size_t n_bytes;
    } pinned[MAX_PINNED];
    uint32_t n_pinned;
};

static void emulated_close(void *dv)
{
    struct emulated *em = dv;
    for (uint32_t i = 0; em->bufs && i < em->n_bufs; i++)
        free(em->bufs[i].kept);
    free(em->bufs);
    free(em->bounce);
    free(em->made);
}

/* Rates from the options, which were measured elsewhere, replace the profile's. */
static void set_rates(struct emulated *em, const struct dlb_device_opts *opts)
{
    em->pinned_bytes_per_s =
        opts->pinned_bytes_per_s > 0 ? opts->pinned_bytes_per_s : em->profile->pinned_bytes_per_s;
    em->pageable_bytes_per_s = opts->pageable_bytes_per_s > 0 ? opts->pageable_bytes_per_s
                                                              : em->profile->pageable_bytes_per_s;
    em->copy_ns = (uint64_t)(opts->copy_us * 1e3);
}

static int emulated_open(void *dv, const struct dlb_device_open *how, struct dlb_err *err)
{
    struct emulated *em = dv;
    const struct dlb_device_opts *opts = how->opts;

    *em = (struct emulated){.profile = &dlb_device_profiles[opts->profile],
                            .opts = opts,
                            .copy_on_compute = how->copy_on_compute,
                            .rng = dlb_rng_seed(how->seed, 0x57e9, 0),
                            .n_bufs = how->n_bufs,
                            .buf_bytes = how->buf_bytes,
                            .augment = dlb_device_augment(how)};
    set_rates(em, opts);
    em->bufs = calloc(how->n_bufs, sizeof *em->bufs);
    if (!em->bufs)
        return dlb_fail_memory(err, NULL, how->n_bufs * sizeof *em->bufs);
    for (uint32_t i = 0; how->keep_bytes && i < how->n_bufs; i++) {
        em->bufs[i].kept = malloc(how->buf_bytes ? how->buf_bytes : 1);
        if (!em->bufs[i].kept)
            return dlb_fail_memory(err, NULL, how->buf_bytes);
    }
    if (how->keep_bytes && em->augment) {
        size_t n_bytes = how->buf_bytes / em->augment->in_bytes * em->augment->out_bytes + 1;
        em->made = malloc(n_bytes);
        if (!em->made)
            return dlb_fail_memory(err, NULL, n_bytes);
    }
    return DLB_OK;
}

static int emulated_pin(void *dv, void *host, size_t n_bytes, struct dlb_err *err)
{
    struct emulated *em = dv;
    if (em->n_pinned == MAX_PINNED)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "the emulated device pins at most %d ranges", MAX_PINNED);
    em->pinned[em->n_pinned].addr = host;
    em->pinned[em->n_pinned++].n_bytes = n_bytes;
    return DLB_OK;
}

static bool is_pinned(const struct emulated *em, const uint8_t *host, size_t n_bytes)
{
    for (uint32_t i = 0; i < em->n_pinned; i++)
        if (host >= em->pinned[i].addr &&
            host + n_bytes <= em->pinned[i].addr + em->pinned[i].n_bytes)
            return true;
    return false;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int check_buf(const struct emulated *em, uint32_t buf, size_t n_bytes, struct dlb_err *err)
{
    if (buf >= em->n_bufs || n_bytes > em->buf_bytes)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "buffer %u of %u cannot take %zu bytes (has %zu)", buf, em->n_bufs, n_bytes,
                        em->buf_bytes);
    return DLB_OK;
}

/* Makes staging memory before the first pageable copy: its page faults must not be in the copy. */
static int bounce_open(struct emulated *em, struct dlb_err *err)
{
    if (em->bounce)
        return DLB_OK;
    em->bounce = malloc(BOUNCE_BYTES);
    if (!em->bounce)
        return dlb_fail_memory(err, NULL, BOUNCE_BYTES);
    memset(em->bounce, 1, BOUNCE_BYTES);
    return DLB_OK;
}

/* What a pageable copy costs the host: every byte is copied to staging memory. A measured rate
 * includes that, so then the copying stops at until_ns. */
static void bounce_copy(struct emulated *em, const uint8_t *host, size_t n_bytes, uint64_t until_ns)
{
    for (size_t done = 0; done < n_bytes && dlb_now_ns() < until_ns; done += BOUNCE_BYTES) {
        size_t left = n_bytes - done;
        memcpy(em->bounce, host + done, left < BOUNCE_BYTES ? left : BOUNCE_BYTES);
    }
    __asm__ volatile(""
                     :
                     : "r"(em->bounce)
                     : "memory"); /* keeps the compiler from removing the copy */
}

/* Sleeps until `watch_ns` before the deadline, then spins. */
static uint64_t reach(uint64_t deadline_ns, uint64_t watch_ns)
{
    if (dlb_now_ns() + watch_ns < deadline_ns)
        (void)dlb_sleep_until_ns(deadline_ns - watch_ns);
    for (;;) {
        uint64_t now_ns = dlb_now_ns();
        if (now_ns >= deadline_ns)
            return now_ns;
    }
}

/* Beyond any run's end, and far from the end of 64 bits. */
static uint64_t ns_of_copy(size_t n_bytes, double bytes_per_s)
{
    double ns = (double)n_bytes / bytes_per_s * 1e9, most_ns = 0x1p60;
    return (uint64_t)(ns < most_ns ? ns : most_ns);
}

static int emulated_copy(void *dv, uint32_t buf, const void *host, size_t n_batch,
                         struct dlb_err *err)
{
    struct emulated *em = dv;
    size_t n_bytes = host ? n_batch : 0;
    uint64_t *engine_free_ns = em->copy_on_compute ? &em->compute_free_ns : &em->copy_free_ns;
    bool pinned = is_pinned(em, host, n_bytes);
    double rate = pinned ? em->pinned_bytes_per_s : em->pageable_bytes_per_s;
    bool measured = em->opts->pageable_bytes_per_s > 0;

    if (check_buf(em, buf, n_bytes, err) != DLB_OK ||
        (!pinned && n_bytes > 0 && bounce_open(em, err) != DLB_OK))
        return (int)err->status;
    struct buffer *b = &em->bufs[buf];
    b->n_bytes = n_bytes;
    b->n_augmented = n_batch;
    if (b->kept && n_bytes > 0)
        memcpy(b->kept, host, n_bytes);
    uint64_t start_ns = max_u64(dlb_now_ns(), *engine_free_ns);
    uint64_t end_ns = start_ns + em->copy_ns + ns_of_copy(n_bytes, rate);
    if (!pinned && n_bytes > 0) {
        (void)reach(start_ns, DLB_WATCH_NS); /* a pageable copy waits for its stream first */
        bounce_copy(em, host, n_bytes, measured ? end_ns : UINT64_MAX);
        end_ns = measured ? end_ns : max_u64(end_ns, dlb_now_ns());
    }
    b->times = (struct dlb_dev_times){.copy_start_ns = start_ns, .copy_end_ns = end_ns};
    *engine_free_ns = end_ns;
    if (!pinned && n_bytes > 0)
        (void)reach(end_ns, DLB_WATCH_NS);
    return DLB_OK;
}

/* A kernel that reads and writes every byte once is bound by the accelerator's memory. This is the
 * least time that it can take, at the rate of the datasheet. */
static int augment_ns(const struct emulated *em, const struct buffer *b, uint64_t *ns,
                      struct dlb_err *err)
{
    size_t n = 0;

    *ns = 0;
    if (!em->augment)
        return DLB_OK;
    int rc = dlb_augment_count(em->augment, b->n_augmented, &n, err);
    double n_bytes = (double)n * (double)(em->augment->in_bytes + em->augment->out_bytes);
    *ns = (uint64_t)(n_bytes / em->profile->memory_bytes_per_s * 1e9);
    return rc;
}

static int emulated_step(void *dv, uint32_t buf, struct dlb_err *err)
{
    struct emulated *em = dv;
    uint64_t extra_ns;

    if (check_buf(em, buf, 0, err) != DLB_OK ||
        augment_ns(em, &em->bufs[buf], &extra_ns, err) != DLB_OK)
        return (int)err->status;
    struct dlb_dev_times *times = &em->bufs[buf].times;
    times->step_start_ns = max_u64(max_u64(dlb_now_ns(), em->compute_free_ns), times->copy_end_ns);
    times->step_end_ns = times->step_start_ns + extra_ns + dlb_step_draw_ns(em->opts, &em->rng);
    em->compute_free_ns = times->step_end_ns;
    return DLB_OK;
}

static uint64_t point_ns(const struct dlb_dev_times *times, enum dlb_point point)
{
    return point == DLB_COPIED ? times->copy_end_ns : times->step_end_ns;
}

static int emulated_poll(void *dv, uint32_t buf, enum dlb_point point, bool *reached,
                         struct dlb_err *err)
{
    struct emulated *em = dv;
    if (check_buf(em, buf, 0, err) != DLB_OK)
        return (int)err->status;
    *reached = dlb_now_ns() >= point_ns(&em->bufs[buf].times, point);
    return DLB_OK;
}

static uint64_t emulated_due(void *dv, uint32_t buf, enum dlb_point point)
{
    struct emulated *em = dv;
    return point_ns(&em->bufs[buf].times, point);
}

static void emulated_hold(void *dv, uint64_t until_ns)
{
    struct emulated *em = dv;
    em->compute_free_ns = max_u64(em->compute_free_ns, until_ns);
}

/* A step that is queued behind the point keeps the device busy while the host wakes up: then the
 * CPU is left to those that load. */
static uint64_t watch_ns(const struct emulated *em, uint64_t point_ns)
{
    return em->compute_free_ns > point_ns + DLB_WATCH_NS ? 0 : DLB_WATCH_NS;
}

static int emulated_wait(void *dv, uint32_t buf, enum dlb_point point, uint64_t timeout_ns,
                         struct dlb_dev_times *out, bool *reached, struct dlb_err *err)
{
    struct emulated *em = dv;
    if (check_buf(em, buf, 0, err) != DLB_OK)
        return (int)err->status;
    uint64_t deadline_ns = point_ns(&em->bufs[buf].times, point), now_ns = dlb_now_ns();
    *out = em->bufs[buf].times;
    *reached = now_ns >= deadline_ns || deadline_ns - now_ns <= timeout_ns;
    if (!*reached)
        (void)dlb_sleep_until_ns(now_ns + timeout_ns);
    else if (now_ns < deadline_ns)
        out->oversleep_ns = reach(deadline_ns, watch_ns(em, deadline_ns)) - deadline_ns;
    return DLB_OK;
}

static int emulated_checksum(void *dv, uint32_t buf, uint64_t *out, struct dlb_err *err)
{
    struct emulated *em = dv;
    if (check_buf(em, buf, 0, err) != DLB_OK)
        return (int)err->status;
    if (!em->bufs[buf].kept)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "checksum without keep_bytes");
    *out = dlb_hash64(em->bufs[buf].kept, em->bufs[buf].n_bytes, 0);
    return DLB_OK;
}

/* Does the GPU kernel's arithmetic on the bytes that were kept. */
static int emulated_made(void *dv, uint32_t buf, const uint8_t **out, size_t *n,
                         struct dlb_err *err)
{
    struct emulated *em = dv;
    if (check_buf(em, buf, 0, err) != DLB_OK)
        return (int)err->status;
    if (!em->made)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "nothing was made of the batches");
    const struct buffer *b = &em->bufs[buf];
    int rc = dlb_augment_count(em->augment, b->n_bytes, n, err);
    for (size_t i = 0; rc == DLB_OK && i < *n; i++)
        dlb_augment_run(em->augment, b->kept + i * em->augment->in_bytes,
                        em->made + i * em->augment->out_bytes);
    *out = em->made;
    return rc;
}

const struct dlb_device dlb_dev_emulated = {
    .name = "emulated",
    .summary = "virtual timeline of an accelerator: copies and steps take modelled time",
    .state_bytes = sizeof(struct emulated),
    .emulated = true,
    .open = emulated_open,
    .pin = emulated_pin,
    .copy = emulated_copy,
    .step = emulated_step,
    .poll = emulated_poll,
    .due = emulated_due,
    .hold = emulated_hold,
    .wait = emulated_wait,
    .checksum = emulated_checksum,
    .made = emulated_made,
    .close = emulated_close,
};
