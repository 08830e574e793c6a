#include "loaders/worker/report.h"

#include "core/base/clock.h"

#include <string.h>
#include <time.h>

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t thread_runqueue_ns(void)
{
    struct dlb_os_thread os;
    dlb_os_thread(0, &os);
    return os.runqueue_ns;
}

static void add_measured(uint64_t *sum, uint64_t value)
{
    if (*sum == DLB_NOT_MEASURED || value == DLB_NOT_MEASURED)
        *sum = DLB_NOT_MEASURED;
    else
        *sum += value;
}

void dlb_worker_report_begin(struct dlb_worker_report *report, bool in_window)
{
    report->in_window = in_window;
    report->cpu_mark_ns = thread_cpu_ns();
    report->runqueue_mark_ns = thread_runqueue_ns();
}

void dlb_worker_report_end(struct dlb_worker_report *report)
{
    uint64_t cpu_ns = thread_cpu_ns(), runqueue_ns = thread_runqueue_ns();

    dlb_worker_report_meters(report)->cpu_ns += cpu_ns - report->cpu_mark_ns;
    add_measured(&report->runqueue_ns[report->in_window],
                 dlb_count_rise(runqueue_ns, report->runqueue_mark_ns));
    report->cpu_mark_ns = cpu_ns;
    report->runqueue_mark_ns = runqueue_ns;
}

void dlb_worker_report_turn(struct dlb_worker_report *report, bool in_window)
{
    dlb_worker_report_end(report);
    report->in_window = in_window;
}

void dlb_worker_report_merge(struct dlb_loader_stats *into, const struct dlb_worker_report *report)
{
    dlb_worker_meters_merge(&into->workers, &report->meters[false]);
    dlb_worker_meters_merge(&into->workers, &report->meters[true]);
    dlb_worker_meters_merge(&into->window, &report->meters[true]);
    for (uint32_t i = 0;
         i < report->n_skipped_named && into->n_skipped_named < DLB_MAX_SKIPPED_NAMED; i++)
        into->skipped[into->n_skipped_named++] = report->skipped[i];
    if (!into->io.reason[0])
        memcpy(into->io.reason, report->io.reason, sizeof into->io.reason);
    into->io.n_uring += report->io.n_uring;
    into->io.n_sync += report->io.n_sync;
    into->io.n_undecided += report->io.n_undecided;
    into->io.n_registered += report->io.n_registered;
    add_measured(&into->runqueue_ns, report->runqueue_ns[true]);
    dlb_os_process_add(&into->os, &report->os);
    into->private_bytes += report->private_bytes;
}
