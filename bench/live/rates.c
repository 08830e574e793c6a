#include "bench/live/rates.h"

#include "core/base/clock.h"

#include <math.h>
#include <stdbool.h>

void dlb_rates_restart(struct dlb_rates_seen *seen)
{
    seen->n_looks = seen->n_steps = 0;
}

/* Workers begin in any order: those up to the first that has not. */
static uint32_t n_begun(const struct dlb_live *live)
{
    uint32_t n = 0;
    while (n < DLB_LIVE_WORKERS &&
           atomic_load_explicit(&live->worker[n].began_ns, memory_order_relaxed) > 0)
        n++;
    return n;
}

static void look_at_step(struct dlb_rates_seen *seen, const struct dlb_live *live)
{
    struct dlb_rates_step step = {
        .began_ns = atomic_load_explicit(&live->began_ns, memory_order_acquire),
        .n_samples = atomic_load_explicit(&live->n_samples, memory_order_relaxed)};
    const struct dlb_rates_step *last = &seen->step[(seen->n_steps - 1) % DLB_RATES_KEPT];

    if (step.began_ns > 0 && (seen->n_steps == 0 || step.began_ns > last->began_ns))
        seen->step[seen->n_steps++ % DLB_RATES_KEPT] = step;
}

void dlb_rates_look(struct dlb_rates_seen *seen, const struct dlb_live *live, uint64_t now_ns)
{
    struct dlb_rates_look *look = &seen->look[seen->n_looks++ % DLB_RATES_KEPT];

    look->now_ns = now_ns;
    for (uint32_t i = 0; i < DLB_LIVE_DEVICES; i++)
        look->busy_ns[i] = dlb_live_busy(&live->device[i], now_ns);
    for (uint32_t i = 0; i < DLB_LIVE_WORKERS; i++) {
        look->worker[i].blocked_ns = dlb_live_until(&live->worker[i].blocked, now_ns);
        look->worker[i].waiting_ns = dlb_live_until(&live->worker[i].waiting, now_ns);
    }
    look_at_step(seen, live);
}

/* The oldest look of the last seconds; NULL: there is none beside the last one. */
static const struct dlb_rates_look *from_when(const struct dlb_rates_seen *seen)
{
    const struct dlb_rates_look *last = &seen->look[(seen->n_looks - 1) % DLB_RATES_KEPT];
    const struct dlb_rates_look *found = NULL;

    for (uint64_t back = 2; back <= seen->n_looks && back <= DLB_RATES_KEPT; back++) {
        const struct dlb_rates_look *look = &seen->look[(seen->n_looks - back) % DLB_RATES_KEPT];
        if (found && last->now_ns - look->now_ns > DLB_RATES_OVER_S * DLB_NS_PER_S)
            break;
        found = look;
    }
    return found;
}

/* Counters are not read at one instant: a share may come out a little beyond its limits. */
static double share(uint64_t now, uint64_t before, double of)
{
    double part = now > before ? (double)(now - before) : 0;
    return fmin(part / of, 1);
}

/* From the oldest step of the last seconds, or from the one before the last, to the last one. Where
 * that is long ago, as steps come, no step since then counts as well. */
static double samples_per_s(const struct dlb_rates_seen *seen, uint64_t now_ns)
{
    if (seen->n_steps < 2)
        return (double)NAN;
    const struct dlb_rates_step *last = &seen->step[(seen->n_steps - 1) % DLB_RATES_KEPT];
    const struct dlb_rates_step *before = &seen->step[(seen->n_steps - 2) % DLB_RATES_KEPT];
    const struct dlb_rates_step *from = before;
    for (uint64_t back = 3; back <= seen->n_steps && back <= DLB_RATES_KEPT; back++) {
        const struct dlb_rates_step *step = &seen->step[(seen->n_steps - back) % DLB_RATES_KEPT];
        if (last->began_ns - step->began_ns > DLB_RATES_OVER_S * DLB_NS_PER_S)
            break;
        from = step;
    }
    uint64_t gap_ns = last->began_ns - before->began_ns;
    bool late = now_ns > last->began_ns && now_ns - last->began_ns > 2 * gap_ns;
    uint64_t over_ns = (late ? now_ns : last->began_ns) - from->began_ns;
    return (double)(last->n_samples - from->n_samples) * 1e9 / (double)over_ns;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A device counts from its first step on. */
static double idle_frac(const struct dlb_live *live, const struct dlb_rates_look *from,
                        const struct dlb_rates_look *last)
{
    uint32_t n = atomic_load_explicit(&live->n_devices, memory_order_relaxed);
    double gone_ns = 0, busy_ns = 0;

    for (uint32_t i = 0; i < n && i < DLB_LIVE_DEVICES; i++) {
        uint64_t began_ns = atomic_load_explicit(&live->device[i].began_ns, memory_order_relaxed);
        if (began_ns == 0 || began_ns >= last->now_ns)
            continue;
        gone_ns += (double)(last->now_ns - later(from->now_ns, began_ns));
        if (last->busy_ns[i] > from->busy_ns[i]) /* a step that is corrected may take some back */
            busy_ns += (double)(last->busy_ns[i] - from->busy_ns[i]);
    }
    return gone_ns > 0 ? fmin(fmax(1 - busy_ns / gone_ns, 0), 1) : (double)NAN;
}

static struct dlb_rates_worker worker_of(const struct dlb_live *live, uint32_t i,
                                         const struct dlb_rates_look *from,
                                         const struct dlb_rates_look *last)
{
    struct dlb_rates_worker out = {0};
    uint64_t began_ns = atomic_load_explicit(&live->worker[i].began_ns, memory_order_relaxed);
    uint64_t since_ns = later(from->now_ns, began_ns);

    if (since_ns >= last->now_ns)
        return out;
    double gone_ns = (double)(last->now_ns - since_ns);
    out.blocked_frac = share(last->worker[i].blocked_ns, from->worker[i].blocked_ns, gone_ns);
    out.waiting_frac = fmin(share(last->worker[i].waiting_ns, from->worker[i].waiting_ns, gone_ns),
                            1 - out.blocked_frac);
    return out;
}

void dlb_rates_of(const struct dlb_rates_seen *seen, const struct dlb_live *live,
                  struct dlb_rates *out)
{
    const struct dlb_rates_look *from = seen->n_looks > 1 ? from_when(seen) : NULL;

    *out = (struct dlb_rates){.samples_per_s = (double)NAN, .idle_frac = (double)NAN};
    out->n_workers = atomic_load_explicit(&live->n_workers, memory_order_relaxed);
    if (!from)
        return;
    const struct dlb_rates_look *last = &seen->look[(seen->n_looks - 1) % DLB_RATES_KEPT];
    out->samples_per_s = samples_per_s(seen, last->now_ns);
    out->idle_frac = idle_frac(live, from, last);
    out->n_shown = n_begun(live);
    for (uint32_t i = 0; i < out->n_shown; i++)
        out->worker[i] = worker_of(live, i, from, last);
}
