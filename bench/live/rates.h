/* Rates of a running process, from what it shows (core/base/live.h).
 *
 * Floor 5. Control thread; pure: the clock is an argument. A rate is that of the last seconds, so
 * that a change is seen. */
#ifndef DLB_BENCH_LIVE_RATES_H
#define DLB_BENCH_LIVE_RATES_H

#include "core/base/live.h"

#include <stdint.h>

#define DLB_RATES_OVER_S 3 /* at most; a process that is younger: since it began */
#define DLB_RATES_KEPT 32

/* Shares of a worker's time; the rest is busy. */
struct dlb_rates_worker {
    double blocked_frac, waiting_frac;
};

/* NaN: not known. */
struct dlb_rates {
    double samples_per_s;
    double idle_frac;   /* of the device: between steps, until the last one that ended */
    uint32_t n_workers; /* of the process */
    uint32_t n_shown;   /* of these, the first: worker[n_shown] */
    struct dlb_rates_worker worker[DLB_LIVE_WORKERS];
};

struct dlb_rates_look {
    uint64_t now_ns, n_samples, stepped_ns, busy_ns;
    struct {
        uint64_t blocked_ns, waiting_ns;
    } worker[DLB_LIVE_WORKERS];
};

/* Zeroed: nothing was seen. */
struct dlb_rates_seen {
    struct dlb_rates_look look[DLB_RATES_KEPT]; /* a ring */
    uint64_t n_looks;
};

/* Another process begins. */
void dlb_rates_restart(struct dlb_rates_seen *seen);

/* Looks at the counters. now_ns: on the clock of dlb_now_ns. */
void dlb_rates_look(struct dlb_rates_seen *seen, const struct dlb_live *live, uint64_t now_ns);

/* From the looks so far. */
void dlb_rates_of(const struct dlb_rates_seen *seen, const struct dlb_live *live,
                  struct dlb_rates *out);

#endif
