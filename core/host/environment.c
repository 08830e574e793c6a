#include "core/host/environment.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/host/cpulist.h"
#include "core/host/mounts.h"
#include "core/host/osacct.h"
#include "core/host/procfs.h"
#include "core/host/topo.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* dlb_json_safe_text because names of hosts, mounts and devices may be any bytes. */
static json_t *text_or_null(bool known, const char *text)
{
    return known ? dlb_json_safe_text(text) : json_null();
}

static json_t *u64_or_null(bool known, uint64_t value)
{
    return dlb_json_u64_or_null(known ? value : DLB_NOT_MEASURED);
}

/* Whether this CPU is the first of the list in this file of its folder, as "0,64" or "0-3,8-11". */
static bool is_first(unsigned cpu, const char *list_name)
{
    char path[128], list[256];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, list_name);
    return dlb_procfs_text(path, list, sizeof list) && strtoul(list, NULL, 10) == cpu;
}

struct cpu_counts {
    unsigned sockets, cores, threads;
};

/* Counts a core at its first hardware thread and a socket at its first CPU. Counting ids would
 * be wrong: they repeat between sockets and dies. */
static void count_cpu(unsigned cpu, struct cpu_counts *counts)
{
    counts->threads++;
    counts->cores += is_first(cpu, "thread_siblings_list") ? 1u : 0u;
    counts->sockets +=
        is_first(cpu, "package_cpus_list") || is_first(cpu, "core_siblings_list") ? 1u : 0u;
}

static struct cpu_counts count_cpus(void)
{
    struct cpu_counts counts = {0};
    char online[1024];

    if (!dlb_procfs_text("/sys/devices/system/cpu/online", online, sizeof online))
        return counts;
    unsigned first = 0, last = 0;
    for (const char *at = online; (at = dlb_cpulist_range(at, &first, &last)) != NULL;)
        for (unsigned cpu = first; cpu <= last && cpu < 1u << 16; cpu++)
            count_cpu(cpu, &counts);
    return counts;
}

static json_t *cpu_json(void)
{
    struct cpu_counts counts = count_cpus();
    double quota_cores = 0.0;
    char model[256], governor[64];

    (void)dlb_os_n_cpus(&quota_cores);
    bool has_model = dlb_procfs_value("/proc/cpuinfo", "model name", model, sizeof model) ||
                     dlb_procfs_text("/sys/firmware/devicetree/base/model", model, sizeof model);
    bool has_governor = dlb_procfs_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                                        governor, sizeof governor);
    return dlb_json_made(
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "model", text_or_null(has_model, model),
                  "sockets", u64_or_null(counts.sockets > 0, counts.sockets), "cores",
                  u64_or_null(counts.cores > 0, counts.cores), "threads",
                  u64_or_null(counts.threads > 0, counts.threads), "quota_cores",
                  dlb_json_real_or_null(quota_cores > 0.0 ? quota_cores : (double)NAN), "governor",
                  text_or_null(has_governor, governor)));
}

static json_t *memory_json(void)
{
    uint64_t total_kib = 0, available_bytes = dlb_os_mem_available_bytes();
    bool has_total = dlb_procfs_field("/proc/meminfo", "MemTotal:", &total_kib);
    struct statvfs shm;
    bool has_shm = statvfs("/dev/shm", &shm) == 0;
    char thp[32];
    bool has_thp =
        dlb_procfs_chosen("/sys/kernel/mm/transparent_hugepage/enabled", thp, sizeof thp);

    return dlb_json_made(json_pack(
        "{s:o, s:o, s:o, s:o}", "total_bytes", u64_or_null(has_total, total_kib * 1024),
        "available_bytes", u64_or_null(available_bytes != DLB_NOT_MEASURED, available_bytes),
        "shm_bytes", u64_or_null(has_shm, has_shm ? (uint64_t)shm.f_blocks * shm.f_frsize : 0),
        "transparent_hugepages", text_or_null(has_thp, thp)));
}

/* The path, or its nearest parent that exists, with links resolved. Malloced; NULL when there is
 * none. */
static char *nearest_existing(const char *path)
{
    char *part = path[0] == '\0' ? dlb_mem_text(".") : dlb_mem_text(path);
    char *real = NULL;

    while (!(real = realpath(part, NULL))) {
        size_t len = strlen(part);
        while (len > 1 && part[len - 1] == '/')
            part[--len] = '\0';
        char *slash = strrchr(part, '/');
        if (strcmp(part, "/") == 0 || strcmp(part, ".") == 0)
            break;
        if (slash == part)
            part[1] = '\0';
        else if (slash)
            *slash = '\0';
        else
            memcpy(part, ".", 2);
    }
    free(part);
    return real;
}

static json_t *filesystem_json(const char *data_path)
{
    char *real = data_path ? nearest_existing(data_path) : NULL;
    struct dlb_mount_found mount;
    struct statvfs fs;
    json_t *out;

    if (!real)
        return json_null();
    bool has_mount = dlb_mount_of("/proc/self/mountinfo", real, &mount);
    bool has_fs = statvfs(real, &fs) == 0;
    out = dlb_json_made(json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o}", "mount", text_or_null(has_mount, mount.point), "type",
        text_or_null(has_mount, mount.type), "options", text_or_null(has_mount, mount.options),
        "device", text_or_null(has_mount, mount.source), "total_bytes",
        u64_or_null(has_fs, has_fs ? (uint64_t)fs.f_blocks * fs.f_frsize : 0), "free_bytes",
        u64_or_null(has_fs, has_fs ? (uint64_t)fs.f_bavail * fs.f_frsize : 0)));
    free(real);
    return out;
}

static json_t *limit_json(int resource)
{
    struct rlimit limit;
    bool known =
        getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return u64_or_null(known, known ? (uint64_t)limit.rlim_cur : 0);
}

static json_t *versions_json(void)
{
    char libc[64] = "unknown";
#ifdef __GLIBC__
    (void)snprintf(libc, sizeof libc, "glibc %s", gnu_get_libc_version());
#endif
#ifdef __clang__
    const char *compiler = __VERSION__; /* "Debian Clang 14.0.6" */
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    const char *hwloc = dlb_topo_library();
    return dlb_json_made(json_pack("{s:s, s:s, s:s, s:o}", "libc", libc, "compiler", compiler,
                                   "jansson", JANSSON_VERSION, "hwloc",
                                   text_or_null(hwloc != NULL, hwloc)));
}

static json_t *timestamp_json(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;

    if (!gmtime_r(&now, &utc) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        return json_null();
    return dlb_json_made(json_string(text));
}

json_t *dlb_environment(const char *data_path)
{
    struct utsname name;
    char kernel[sizeof name.sysname + sizeof name.release + sizeof name.machine + 3],
        clock_source[64];
    bool has_name = uname(&name) == 0;
    bool has_clock =
        dlb_procfs_text("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        clock_source, sizeof clock_source);

    if (has_name)
        (void)snprintf(kernel, sizeof kernel, "%s %s %s", name.sysname, name.release, name.machine);
    return dlb_json_made(json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o}", "host",
        text_or_null(has_name, name.nodename), "kernel", text_or_null(has_name, kernel), "cpu",
        cpu_json(), "memory", memory_json(), "clock_source", text_or_null(has_clock, clock_source),
        "filesystem", filesystem_json(data_path), "limits", "nofile", limit_json(RLIMIT_NOFILE),
        "memlock_bytes", limit_json(RLIMIT_MEMLOCK), "versions", versions_json(), "timestamp",
        timestamp_json()));
}
