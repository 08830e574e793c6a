/* What one worker reports: its meters, what it skipped, and where it is now.
 *
 * Floor 3. Written by the worker alone; it may lie in memory that processes share. The atomic
 * fields may be read at any time, from any thread or process. The others are read when the worker
 * has ended.
 *
 * The consumer's window opens and closes at times that mean nothing to a worker. A worker looks
 * when it begins a batch: the batch, and the waits after it, count as within the window if the
 * window was open then. */
#ifndef DLB_LOADERS_WORKER_REPORT_H
#define DLB_LOADERS_WORKER_REPORT_H

#include "core/base/err.h"
#include "core/host/osacct.h"
#include "core/measure/meters.h"
#include "loaders/loader.h"
#include "loaders/worker/io_trial.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_worker_report {
    struct dlb_worker_meters meters[2]; /* outside of the window, within it */
    bool in_window;
    uint64_t cpu_mark_ns, runqueue_mark_ns; /* of its thread: up to these it was counted */
    struct dlb_io_used io;
    struct dlb_io_trial trial; /* of DLB_READ_AUTO */
    uint32_t n_skipped_named;
    struct dlb_err skipped[DLB_MAX_SKIPPED_NAMED];
    uint64_t runqueue_ns[2];  /* as meters; DLB_NOT_MEASURED without /proc/.../schedstat */
    struct dlb_os_process os; /* of its process, over its life; zeros for a thread */
    uint64_t private_bytes;   /* that its process added; the largest of its lives */
    /* Where it is; read when it hangs and cannot be asked. */
    _Atomic uint64_t at;          /* map-style: the sample; iterable: the shard */
    _Atomic uint64_t at_nth;      /* iterable: samples that it has read of that shard; else: samples
                                     that it has read since at_since_ns */
    _Atomic uint64_t at_since_ns; /* 0: at no sample */
};

static inline struct dlb_worker_meters *dlb_worker_report_meters(struct dlb_worker_report *report)
{
    return &report->meters[report->in_window];
}

/* The worker's thread, at its start and its end: its CPU time and wait for a core in between are
 * counted. */
void dlb_worker_report_begin(struct dlb_worker_report *report, bool in_window);
void dlb_worker_report_end(struct dlb_worker_report *report);

/* The worker's thread: what follows is within the window, or is not. */
void dlb_worker_report_turn(struct dlb_worker_report *report, bool in_window);

/* Adds one worker's report to the account of all workers of a loader. */
void dlb_worker_report_merge(struct dlb_loader_stats *into, const struct dlb_worker_report *report);

#endif
