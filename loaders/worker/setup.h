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
    struct dlb_trace_ring *trace; /* NULL: no timeline is recorded */
    uint32_t id, n_workers;       /* id < n_workers: its place among the workers of its loader */
};

static inline bool dlb_worker_told_to_stop(const struct dlb_worker_setup *setup)
{
    return setup->stop && atomic_load_explicit(setup->stop, memory_order_relaxed);
}

/* Counts a stage: in the report, in the timeline for the batch and sample that it is at, and in a
 * view, which shows reads apart. */
static inline void dlb_worker_meter(const struct dlb_worker_setup *setup,
                                    enum dlb_worker_stage stage, uint64_t start_ns, uint64_t end_ns)
{
    struct dlb_worker_report *report = setup->report;

    dlb_hist_add(&dlb_worker_report_meters(report)->stage[stage], end_ns - start_ns);
    dlb_trace_add(setup->trace, (uint8_t)stage, report->in_window, start_ns, end_ns);
    if (stage == DLB_WS_READ && setup->live)
        dlb_live_end(&setup->live->blocked, end_ns - start_ns);
}

#endif
