/* How many tasks and descriptors the limits leave. */
#include "core/host/osacct_parse.h"
#include "core/host/procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads of one user, as RLIMIT_NPROC counts them. */
static uint64_t tasks_of(uid_t uid)
{
    DIR *proc = opendir("/proc");
    uint64_t n = 0;

    if (!proc)
        return 0;
    for (const struct dirent *entry; (entry = readdir(proc));) {
        char path[64];
        uint64_t owner, threads;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%.20s/status", entry->d_name);
        if (dlb_procfs_field(path, "Uid:", &owner) && owner == uid &&
            dlb_procfs_field(path, "Threads:", &threads))
            n += threads;
    }
    (void)closedir(proc);
    return n;
}

uint64_t dlb_os_tasks_left(const char **by)
{
    struct rlimit limit;
    uint64_t left = dlb_cgroup_tasks_left("");

    *by = "the cgroup's pids.max";
    /* The kernel does not apply the limit to root. */
    if (getuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return left;
    uint64_t n = tasks_of(getuid());
    uint64_t of_user = limit.rlim_cur > n ? limit.rlim_cur - n : 0;
    if (of_user >= left)
        return left;
    *by = "RLIMIT_NPROC (ulimit -u)";
    return of_user;
}

uint64_t dlb_os_descriptors_left(void)
{
    struct rlimit limit;
    uint64_t n = 0;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return DLB_NOT_MEASURED;
    DIR *open_ones = opendir("/proc/self/fd");
    if (!open_ones)
        return DLB_NOT_MEASURED;
    while (readdir(open_ones))
        n++;
    (void)closedir(open_ones);
    n -= n < 3 ? n : 3; /* ".", "..", and the descriptor of the folder itself */
    return limit.rlim_cur > n ? limit.rlim_cur - n : 0;
}
