#include "loaders/limits.h"

#include "bench/base/units.h"
#include "bench/host/osacct.h"

/* What a worker process opens beside what it inherits: its end of the channel, the signal
 * descriptor, and a few files at a time. */
enum { WORKER_DESCRIPTORS = 16 };

int dlb_limits_memory(const struct dlb_loader_opts *opts, struct dlb_err *err)
{
    char need[32], have[32];
    double bytes = opts->worker_init_mb * 1e6 * (double)opts->num_workers;
    uint64_t available = dlb_os_mem_available_bytes();

    if (available == DLB_NOT_MEASURED || bytes <= (double)available)
        return DLB_OK;
    return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET,
                    "%lld workers need %s (loader.worker_init_mb), %s is available: lower "
                    "num_workers",
                    (long long)opts->num_workers,
                    dlb_bytes_text((uint64_t)bytes, need, sizeof need),
                    dlb_bytes_text(available, have, sizeof have));
}

int dlb_limits_processes(const struct dlb_loader_opts *opts, struct dlb_err *err)
{
    uint64_t need = (uint64_t)opts->num_workers + 1; /* and the fork server */
    const char *by = "";
    uint64_t left = dlb_os_tasks_left(&by);

    if (need > left)
        return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET,
                        "%lld workers need %llu processes, %s leaves %llu: raise it, or lower "
                        "num_workers",
                        (long long)opts->num_workers, (unsigned long long)need, by,
                        (unsigned long long)left);
    left = dlb_os_descriptors_left();
    if (left < WORKER_DESCRIPTORS)
        return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET,
                        "a worker process needs %d descriptors, RLIMIT_NOFILE (ulimit -n) leaves "
                        "%llu: raise it",
                        WORKER_DESCRIPTORS, (unsigned long long)left);
    return DLB_OK;
}
