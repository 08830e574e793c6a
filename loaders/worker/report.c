#include "loaders/worker/report.h"

#include <string.h>

void dlb_worker_report_merge(struct dlb_loader_stats *into, const struct dlb_worker_report *report)
{
    dlb_worker_meters_merge(&into->workers, &report->meters);
    for (uint32_t i = 0;
         i < report->n_skipped_named && into->n_skipped_named < DLB_MAX_SKIPPED_NAMED; i++)
        into->skipped[into->n_skipped_named++] = report->skipped[i];
    if (into->io.n_sync == 0 && report->io.n_sync > 0)
        memcpy(into->io.reason, report->io.reason, sizeof into->io.reason);
    into->io.n_uring += report->io.n_uring;
    into->io.n_sync += report->io.n_sync;
    into->io.n_registered += report->io.n_registered;
    if (into->runqueue_ns == DLB_NOT_MEASURED || report->runqueue_ns == DLB_NOT_MEASURED)
        into->runqueue_ns = DLB_NOT_MEASURED;
    else
        into->runqueue_ns += report->runqueue_ns;
    dlb_os_process_add(&into->os, &report->os);
    into->private_bytes += report->private_bytes;
}
