#include "loaders/pool/limits.h"

#include "core/base/units.h"
#include "core/host/osacct.h"

/* Descriptors of a worker process beside those that it inherits: its end of the channel, the signal
 * descriptor, and a few files at a time. */
enum { WORKER_DESCRIPTORS = 16 };

static uint64_t n_loaders(const struct dlb_job *job)
{
    return job->n_loaders ? job->n_loaders : 1;
}

int dlb_limits_memory(const struct dlb_job *job, struct dlb_err *err)
{
    char need[32], have[32];
    uint64_t n_workers = (uint64_t)job->opts->num_workers * n_loaders(job);
    struct dlb_job_memory own = dlb_job_memory(job);
    double init = own.init_bytes, shuffle = own.shuffle_bytes, all = init + shuffle;
    uint64_t available = dlb_os_mem_available_bytes();

    if (available == DLB_NOT_MEASURED || all <= (double)available)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_LOADER_WORKERS_MEMORY, NULL, DLB_NO_OFFSET,
                    "%llu workers need %s (%s%s%s), %s is available: lower num_workers%s",
                    (unsigned long long)n_workers, dlb_bytes_text((uint64_t)all, need, sizeof need),
                    init > 0 ? "loader.worker_init_mb" : "", init > 0 && shuffle > 0 ? ", " : "",
                    shuffle > 0 ? "loader.shuffle_buffer of samples of the mean size" : "",
                    dlb_bytes_text(available, have, sizeof have),
                    shuffle > 0 ? " or shuffle_buffer" : "");
}

static int check_processes(uint64_t n_workers, uint64_t n_servers, struct dlb_err *err)
{
    uint64_t need = n_workers + n_servers;
    const char *by = "";
    uint64_t left = dlb_os_tasks_left(&by);

    if (need > left)
        return dlb_fail(err, DLB_ERR_LIMIT_PROCESSES, NULL, DLB_NO_OFFSET,
                        "%llu workers need %llu processes, %s leaves %llu: raise it, or lower "
                        "num_workers",
                        (unsigned long long)n_workers, (unsigned long long)need, by,
                        (unsigned long long)left);
    left = dlb_os_descriptors_left();
    if (left < WORKER_DESCRIPTORS)
        return dlb_fail(err, DLB_ERR_LIMIT_DESCRIPTORS, NULL, DLB_NO_OFFSET,
                        "a worker process needs %d descriptors, RLIMIT_NOFILE (ulimit -n) leaves "
                        "%llu: raise it",
                        WORKER_DESCRIPTORS, (unsigned long long)left);
    return DLB_OK;
}

int dlb_limits_processes(const struct dlb_loader_opts *opts, struct dlb_err *err)
{
    return check_processes((uint64_t)opts->num_workers, 1, err);
}

int dlb_limits_job_processes(const struct dlb_job *job, struct dlb_err *err)
{
    uint64_t n_workers = (uint64_t)job->opts->num_workers;
    uint64_t n_before = job->first_worker / n_workers; /* loaders whose fork servers exist */

    return check_processes(n_workers * n_loaders(job), n_loaders(job) - n_before, err);
}
