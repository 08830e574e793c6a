#include "core/host/osacct.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/host/osacct_parse.h"
#include "core/host/procfs.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t timeval_ns(struct timeval tv)
{
    return (uint64_t)tv.tv_sec * DLB_NS_PER_S + (uint64_t)tv.tv_usec * DLB_NS_PER_US;
}

void dlb_os_io_at(const char *root, struct dlb_os_process *out)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/proc/self/io", root);
    out->read_chars = out->read_device_bytes = DLB_NOT_MEASURED;
    (void)dlb_procfs_field(path, "rchar:", &out->read_chars);
    (void)dlb_procfs_field(path, "read_bytes:", &out->read_device_bytes);
}

void dlb_os_process(struct dlb_os_process *out)
{
    struct rusage usage;

    memset(out, 0xff, sizeof *out); /* DLB_NOT_MEASURED everywhere */
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        out->utime_ns = timeval_ns(usage.ru_utime);
        out->stime_ns = timeval_ns(usage.ru_stime);
        out->minor_faults = (uint64_t)usage.ru_minflt;
        out->major_faults = (uint64_t)usage.ru_majflt;
        out->voluntary_switches = (uint64_t)usage.ru_nvcsw;
        out->involuntary_switches = (uint64_t)usage.ru_nivcsw;
    }
    dlb_os_io_at("", out);
}

static void add(uint64_t *into, uint64_t from)
{
    *into = *into == DLB_NOT_MEASURED || from == DLB_NOT_MEASURED ? DLB_NOT_MEASURED : *into + from;
}

void dlb_os_process_add(struct dlb_os_process *into, const struct dlb_os_process *from)
{
    add(&into->utime_ns, from->utime_ns);
    add(&into->stime_ns, from->stime_ns);
    add(&into->minor_faults, from->minor_faults);
    add(&into->major_faults, from->major_faults);
    add(&into->voluntary_switches, from->voluntary_switches);
    add(&into->involuntary_switches, from->involuntary_switches);
    add(&into->read_chars, from->read_chars);
    add(&into->read_device_bytes, from->read_device_bytes);
}

void dlb_os_schedstat_at(const char *path, struct dlb_os_thread *out)
{
    char text[128];
    uint64_t run_ns, runqueue_ns, n_slices;

    *out = (struct dlb_os_thread){.run_ns = DLB_NOT_MEASURED, .runqueue_ns = DLB_NOT_MEASURED};
    if (!dlb_procfs_text(path, text, sizeof text) || !dlb_parse_u64(text, &run_ns))
        return;
    const char *second = strchr(text, ' ');
    if (!second || !dlb_parse_u64(second + 1, &runqueue_ns))
        return;
    /* A kernel without CONFIG_SCHED_INFO shows "0 0 0". A thread that has just started may also
     * show 0, but it has its first time slice. */
    const char *third = strchr(second + 1, ' ');
    if (run_ns == 0 && (!third || !dlb_parse_u64(third + 1, &n_slices) || n_slices == 0))
        return;
    *out = (struct dlb_os_thread){.run_ns = run_ns, .runqueue_ns = runqueue_ns};
}

void dlb_os_thread(int32_t tid, struct dlb_os_thread *out)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/schedstat",
                   tid == 0 ? (int)gettid() : (int)tid);
    dlb_os_schedstat_at(path, out);
}

void dlb_os_first_thread(pid_t pid, struct dlb_os_thread *out)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    dlb_os_schedstat_at(path, out);
}

void dlb_os_self(struct dlb_os_self *out)
{
    struct dlb_os_thread thread;
    struct rusage usage;
    struct timespec cpu;

    memset(out, 0xff, sizeof *out); /* DLB_NOT_MEASURED everywhere */
    dlb_os_thread(0, &thread);
    out->runqueue_ns = thread.runqueue_ns;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        out->minor_faults = (uint64_t)usage.ru_minflt;
        out->major_faults = (uint64_t)usage.ru_majflt;
        out->voluntary_switches = (uint64_t)usage.ru_nvcsw;
        out->involuntary_switches = (uint64_t)usage.ru_nivcsw;
    }
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
        out->cpu_ns = (uint64_t)cpu.tv_sec * DLB_NS_PER_S + (uint64_t)cpu.tv_nsec;
    out->now_ns = dlb_now_ns();
}

uint64_t dlb_os_self_minor_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_minflt : DLB_NOT_MEASURED;
}

static uint64_t rss_bytes_at(const char *root)
{
    char path[PATH_MAX], text[256];
    uint64_t rss_pages;

    /* statm: "size resident shared ...", in pages */
    (void)snprintf(path, sizeof path, "%s/proc/self/statm", root);
    if (!dlb_procfs_text(path, text, sizeof text))
        return DLB_NOT_MEASURED;
    const char *second = strchr(text, ' ');
    if (!second || !dlb_parse_u64(second + 1, &rss_pages))
        return DLB_NOT_MEASURED;
    return rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t dlb_os_pss_bytes_at(const char *root)
{
    char path[PATH_MAX];
    uint64_t pss_kib;

    (void)snprintf(path, sizeof path, "%s/proc/self/smaps_rollup", root);
    return dlb_procfs_field(path, "Pss:", &pss_kib) ? pss_kib * 1024 : rss_bytes_at(root);
}

uint64_t dlb_os_rss_bytes(void)
{
    return rss_bytes_at("");
}

uint64_t dlb_os_anon_bytes(void)
{
    uint64_t kib;
    return dlb_procfs_field("/proc/self/status", "RssAnon:", &kib) ? kib * 1024 : DLB_NOT_MEASURED;
}

uint64_t dlb_os_peak_pss_bytes_at(const char *root)
{
    char path[PATH_MAX];
    uint64_t peak_kib, now_kib, pss_bytes = dlb_os_pss_bytes_at(root);

    (void)snprintf(path, sizeof path, "%s/proc/self/status", root);
    if (pss_bytes == DLB_NOT_MEASURED || !dlb_procfs_field(path, "VmHWM:", &peak_kib) ||
        !dlb_procfs_field(path, "VmRSS:", &now_kib) || peak_kib < now_kib)
        return pss_bytes;
    return pss_bytes + (peak_kib - now_kib) * 1024;
}

uint64_t dlb_os_peak_pss_bytes(void)
{
    return dlb_os_peak_pss_bytes_at("");
}

uint64_t dlb_os_mem_available_bytes_at(const char *root)
{
    char path[PATH_MAX];
    uint64_t available_kib, left_bytes = dlb_cgroup_mem_left_bytes(root);

    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (!dlb_procfs_field(path, "MemAvailable:", &available_kib))
        return left_bytes; /* UINT64_MAX, which is DLB_NOT_MEASURED, without a limit */
    return available_kib * 1024 < left_bytes ? available_kib * 1024 : left_bytes;
}

uint64_t dlb_os_mem_available_bytes(void)
{
    return dlb_os_mem_available_bytes_at("");
}

uint64_t dlb_os_ram_bytes(void)
{
    uint64_t total_kib;
    return dlb_procfs_field("/proc/meminfo", "MemTotal:", &total_kib) ? total_kib * 1024 : 0;
}

struct dlb_os_machine dlb_os_machine_parse(const char *proc_stat)
{
    struct dlb_os_machine out = {DLB_NOT_MEASURED, DLB_NOT_MEASURED, DLB_NOT_MEASURED,
                                 DLB_NOT_MEASURED};
    unsigned long long user, nice, system, idle, iowait = 0, irq = 0, softirq = 0, steal = 0;

    /* proc(5). User and nice already contain guests; stolen ticks were not available to this
     * machine. */
    int n = proc_stat ? sscanf(proc_stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user,
                               &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
                      : 0;
    if (n < 4)
        return out;
    out.busy_ticks = user + nice + system + irq + softirq + steal;
    out.task_ticks = user + nice + system;
    if (n == 8)
        out.stolen_ticks = steal;
    out.all_ticks = out.busy_ticks + idle + iowait;
    return out;
}

void dlb_os_machine(struct dlb_os_machine *out)
{
    char text[512]; /* the first line is that for all CPUs */
    *out = dlb_os_machine_parse(dlb_procfs_text("/proc/stat", text, sizeof text) ? text : NULL);
}

/* The share of some ticks in all ticks between two readings. */
static double ticks_frac(uint64_t from, uint64_t to, const struct dlb_os_machine *before,
                         const struct dlb_os_machine *after)
{
    if (before->all_ticks == DLB_NOT_MEASURED || after->all_ticks == DLB_NOT_MEASURED ||
        after->all_ticks <= before->all_ticks || from == DLB_NOT_MEASURED || to < from)
        return (double)NAN;
    return fmin((double)(to - from) / (double)(after->all_ticks - before->all_ticks), 1);
}

double dlb_os_busy_frac(const struct dlb_os_machine *before, const struct dlb_os_machine *after)
{
    return ticks_frac(before->busy_ticks, after->busy_ticks, before, after);
}

double dlb_os_stolen_frac(const struct dlb_os_machine *before, const struct dlb_os_machine *after)
{
    double frac = ticks_frac(before->stolen_ticks, after->stolen_ticks, before, after);
    bool coarse = after->all_ticks - before->all_ticks < DLB_OS_STOLEN_TICKS;
    return coarse ? (double)NAN : frac;
}

double dlb_os_stolen_ns(const struct dlb_os_machine *before, const struct dlb_os_machine *after)
{
    double frac = ticks_frac(before->stolen_ticks, after->stolen_ticks, before, after);
    return frac * (double)(after->all_ticks - before->all_ticks) * 1e9 /
           (double)sysconf(_SC_CLK_TCK);
}

/* The CPUs of this process, to be freed with CPU_FREE; NULL: not known. */
static cpu_set_t *affinity(size_t *n_bytes)
{
    /* The set of the first thread stands for the process, because workers may be bound to fewer
     * CPUs. The kernel refuses a set that is smaller than its own, so the set grows until it
     * fits. */
    for (int n_cpus = 1024; n_cpus <= 1 << 20; n_cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)n_cpus);
        *n_bytes = CPU_ALLOC_SIZE((size_t)n_cpus);
        if (!set)
            break;
        if (sched_getaffinity(getpid(), *n_bytes, set) == 0 && CPU_COUNT_S(*n_bytes, set) > 0)
            return set;
        CPU_FREE(set);
    }
    return NULL;
}

static uint32_t affinity_cpus(void)
{
    size_t n_bytes = 0;
    cpu_set_t *set = affinity(&n_bytes);
    long count = set ? CPU_COUNT_S(n_bytes, set) : sysconf(_SC_NPROCESSORS_ONLN);
    CPU_FREE(set);
    return count > 0 ? (uint32_t)count : 1;
}

uint64_t dlb_os_cpu_set_hash(void)
{
    size_t n_bytes = 0;
    cpu_set_t *set = affinity(&n_bytes);
    uint64_t hash = set ? dlb_hash64(set, n_bytes, 0) : 0;
    CPU_FREE(set);
    return hash;
}

uint32_t dlb_os_n_cpus(double *quota_cores)
{
    uint32_t n_cpus = affinity_cpus();
    double quota = dlb_cgroup_quota_cores("");

    *quota_cores = quota;
    if (quota > 0.0 && ceil(quota) < (double)n_cpus)
        return (uint32_t)ceil(quota);
    return n_cpus;
}
