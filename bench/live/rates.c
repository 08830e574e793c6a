#include "bench/live/rates.h"

#include "core/base/clock.h"

#include <math.h>

void dlb_rates_restart(struct dlb_rates_seen *seen)
{
    seen->n_looks = 0;
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

void dlb_rates_look(struct dlb_rates_seen *seen, const struct dlb_live *live, uint64_t now_ns)
{
    struct dlb_rates_look *look = &seen->look[seen->n_looks++ % DLB_RATES_KEPT];

    look->now_ns = now_ns;
    look->n_samples = atomic_load_explicit(&live->n_samples, memory_order_relaxed);
    look->stepped_ns = atomic_load_explicit(&live->stepped_ns, memory_order_relaxed);
    look->busy_ns = atomic_load_explicit(&live->busy_ns, memory_order_relaxed);
    for (uint32_t i = 0; i < DLB_LIVE_WORKERS; i++) {
        look->worker[i].blocked_ns = dlb_live_until(&live->worker[i].blocked, now_ns);
        look->worker[i].waiting_ns = dlb_live_until(&live->worker[i].waiting, now_ns);
    }
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

void dlb_rates_of(const struct dlb_rates_seen *seen, const struct dlb_live *live,
                  struct dlb_rates *out)
{
    const struct dlb_rates_look *from = seen->n_looks > 1 ? from_when(seen) : NULL;

    *out = (struct dlb_rates){.samples_per_s = (double)NAN, .idle_frac = (double)NAN};
    out->n_workers = atomic_load_explicit(&live->n_workers, memory_order_relaxed);
    if (!from)
        return;
    const struct dlb_rates_look *last = &seen->look[(seen->n_looks - 1) % DLB_RATES_KEPT];
    double gone_ns = (double)(last->now_ns - from->now_ns);
    if (!(gone_ns > 0))
        return;
    if (last->n_samples > 0)
        out->samples_per_s = (double)(last->n_samples - from->n_samples) * 1e9 / gone_ns;
    if (last->stepped_ns > from->stepped_ns)
        out->idle_frac =
            1 - share(last->busy_ns, from->busy_ns, (double)(last->stepped_ns - from->stepped_ns));
    out->n_shown = n_begun(live);
    for (uint32_t i = 0; i < out->n_shown; i++) {
        struct dlb_rates_worker *w = &out->worker[i];
        w->blocked_frac = share(last->worker[i].blocked_ns, from->worker[i].blocked_ns, gone_ns);
        w->waiting_frac =
            fmin(share(last->worker[i].waiting_ns, from->worker[i].waiting_ns, gone_ns),
                 1 - w->blocked_frac);
    }
}
