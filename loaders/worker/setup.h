/* What a worker is given when it starts.
 *
 * Floor 3. Everything is borrowed for the worker's life. */
#ifndef DLB_LOADERS_WORKER_SETUP_H
#define DLB_LOADERS_WORKER_SETUP_H

#include "loaders/loader.h"
#include "loaders/sampler.h"
#include "loaders/worker/report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_worker_setup {
    const struct dlb_job *job;
    const struct dlb_sampler *sampler;
    struct dlb_worker_report *report; /* zeroed before the worker starts the first time */
    const _Atomic bool *stop;         /* true: leave. Read before every sample; NULL: never set */
    struct dlb_pulse *pulse; /* updated for each sample; NULL: the consumer updates the pulse */
    struct dlb_live_worker *live; /* what a view shows of it; NULL: nothing */
    uint32_t id, n_workers;       /* id < n_workers: its place among the workers of its loader */
};

static inline bool dlb_worker_told_to_stop(const struct dlb_worker_setup *setup)
{
    return setup->stop && atomic_load_explicit(setup->stop, memory_order_relaxed);
}

#endif
