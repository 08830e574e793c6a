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

/* Each sample of this process is in one buffer at most, and a worker without shards has an empty
 * buffer. */
static double shuffle_bytes(const struct dlb_job *job)
{
    const struct dlb_loader_opts *opts = job->opts;
    const struct dlb_shape *shape = &job->dataset->shape;

    if (!shape->iterable || !opts->shuffle || shape->n_samples == 0)
        return 0;
    struct dlb_job_share share = dlb_job_share(job);
    double total = (double)shape->total_bytes;
    double own = total * (double)share.n_shards / (double)shape->n_shards;
    double each = total / (double)shape->n_samples * (double)opts->shuffle_buffer;
    if (each > (double)opts->shuffle_buffer_bytes)
        each = (double)opts->shuffle_buffer_bytes;
    double held = each * (double)share.n_busy;
    return held < own ? held : own;
}

int dlb_limits_memory(const struct dlb_job *job, struct dlb_err *err)
{
    char need[32], have[32];
    uint64_t n_workers = (uint64_t)job->opts->num_workers * n_loaders(job);
    double init = job->opts->worker_init_mb * 1e6 * (double)n_workers;
    double shuffle = shuffle_bytes(job);
    uint64_t available = dlb_os_mem_available_bytes();

    if (available == DLB_NOT_MEASURED || init + shuffle <= (double)available)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_LOADER_WORKERS_MEMORY, NULL, DLB_NO_OFFSET,
                    "%llu workers need %s (%s%s%s), %s is available: lower num_workers%s",
                    (unsigned long long)n_workers,
                    dlb_bytes_text((uint64_t)(init + shuffle), need, sizeof need),
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
