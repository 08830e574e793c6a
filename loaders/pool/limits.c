#include "loaders/pool/limits.h"

#include "core/base/units.h"
#include "core/host/osacct.h"

#include <stdio.h>
#include <string.h>

/* Descriptors of a worker process beside those that it inherits: its end of the channel, the signal
 * descriptor, and a few files at a time. */
enum { WORKER_DESCRIPTORS = 16 };

static uint64_t n_loaders(const struct dlb_job *job)
{
    return job->n_loaders ? job->n_loaders : 1;
}

static void add(char *list, size_t n_list, bool is_there, const char *what)
{
    size_t used = strlen(list);
    if (is_there)
        (void)snprintf(list + used, n_list - used, "%s%s", used ? ", " : "", what);
}

int dlb_limits_memory(const struct dlb_job *job, struct dlb_err *err)
{
    char need[32], have[32], causes[160] = "", lower[160] = "";
    uint64_t n_workers = (uint64_t)job->opts->num_workers * n_loaders(job);
    struct dlb_job_memory own = dlb_job_memory(job);
    double all = own.init_bytes + own.shuffle_bytes + own.readers_bytes;
    uint64_t available = dlb_os_mem_available_bytes();

    if (available == DLB_NOT_MEASURED || all <= (double)available)
        return DLB_OK;
    add(causes, sizeof causes, own.init_bytes > 0, "loader.worker_init_mb");
    add(causes, sizeof causes, own.shuffle_bytes > 0,
        "loader.shuffle_buffer of samples of the mean size");
    add(causes, sizeof causes, own.readers_bytes > 0, "what a reader unpacks at once");
    add(lower, sizeof lower, true, "lower num_workers");
    add(lower, sizeof lower, own.shuffle_bytes > 0, "lower shuffle_buffer");
    add(lower, sizeof lower, own.readers_bytes > 0,
        "or store the data uncompressed or in smaller chunks");
    return dlb_fail(err, DLB_ERR_LOADER_WORKERS_MEMORY, NULL, DLB_NO_OFFSET,
                    "%llu workers need %s (%s), %s is available: %s", (unsigned long long)n_workers,
                    dlb_bytes_text((uint64_t)all, need, sizeof need), causes,
                    dlb_bytes_text(available, have, sizeof have), lower);
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
