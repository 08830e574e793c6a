/* What one worker reports: its meters, what it skipped, and where it is now.
 *
 * Floor 3. Written by the worker alone; it may lie in memory that processes share. The atomic
 * fields may be read at any time, from any thread or process. The others are read when the worker
 * has ended. */
#ifndef DLB_LOADERS_WORKER_REPORT_H
#define DLB_LOADERS_WORKER_REPORT_H

#include "core/base/err.h"
#include "core/host/osacct.h"
#include "core/measure/meters.h"
#include "loaders/loader.h"

#include <stdatomic.h>
#include <stdint.h>

struct dlb_worker_report {
    struct dlb_worker_meters meters;
    struct dlb_io_used io;
    uint32_t n_skipped_named;
    struct dlb_err skipped[DLB_MAX_SKIPPED_NAMED];
    uint64_t runqueue_ns;     /* of its thread; DLB_NOT_MEASURED without /proc/.../schedstat */
    struct dlb_os_process os; /* of its process, over its life; zeros for a thread */
    uint64_t private_bytes;   /* that its process added; the largest of its lives */
    /* Where it is; read when it hangs and cannot be asked. */
    _Atomic uint64_t at;          /* map-style: the sample; iterable: the shard */
    _Atomic uint64_t at_nth;      /* iterable: samples that it has read of that shard */
    _Atomic uint64_t at_since_ns; /* 0: at no sample */
};

/* Adds one worker's report to the account of all workers of a loader. */
void dlb_worker_report_merge(struct dlb_loader_stats *into, const struct dlb_worker_report *report);

#endif
