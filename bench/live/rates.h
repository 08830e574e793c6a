/* Rates of a running process, from what it shows (core/base/live.h).
 *
 * Floor 5. Control thread; pure: the clock is an argument. A rate is that of the last seconds, so
 * that a change is seen; where steps are rarer, of the last two of them. */
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
    double samples_per_s; /* of steps that began, between the first and the last of them */
    double idle_frac;     /* of the devices' time since their first steps */
    uint32_t n_workers;   /* of the process */
    uint32_t n_shown;     /* of these, the first: worker[n_shown] */
    struct dlb_rates_worker worker[DLB_LIVE_WORKERS];
};

struct dlb_rates_look {
    uint64_t now_ns;
    uint64_t busy_ns[DLB_LIVE_DEVICES];
    struct {
        uint64_t blocked_ns, waiting_ns;
    } worker[DLB_LIVE_WORKERS];
};

/* A step that began, and the samples up to it. */
struct dlb_rates_step {
    uint64_t began_ns, n_samples;
};

/* Zeroed: nothing was seen. */
struct dlb_rates_seen {
    struct dlb_rates_look look[DLB_RATES_KEPT]; /* a ring */
    uint64_t n_looks;
    struct dlb_rates_step
        step[DLB_RATES_KEPT]; /* a ring: the last step of each look that saw new ones */
    uint64_t n_steps;
};

/* Another process begins. */
void dlb_rates_restart(struct dlb_rates_seen *seen);

/* Looks at the counters. now_ns: on the clock of dlb_now_ns. */
void dlb_rates_look(struct dlb_rates_seen *seen, const struct dlb_live *live, uint64_t now_ns);

/* From the looks so far. */
void dlb_rates_of(const struct dlb_rates_seen *seen, const struct dlb_live *live,
                  struct dlb_rates *out);

#endif
