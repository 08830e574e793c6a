/* Checks of CPUs, clock and memory. */
#include "core/host/check_report.h"
#include "core/host/osacct.h"
#include "core/host/procfs.h"
#include "core/host/reclaim.h"
#include "core/host/topo.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

void dlb_check_cpus(struct dlb_check_result *out)
{
    double quota_cores;
    uint32_t usable = dlb_os_n_cpus(&quota_cores);
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (quota_cores > 0.0) {
        bool whole = quota_cores == floor(quota_cores);
        dlb_check_found(out, whole ? DLB_CHECK_NOTE : DLB_CHECK_BAD,
                        "%" PRIu32 " of %ld CPUs; cgroup quota of %.2f cores", usable, online,
                        quota_cores);
        dlb_check_advise(out, "%s",
                         whole ? "count num_workers against the quota; a process over it is "
                                 "stopped for the rest of each period"
                               : "a quota of less than a whole core stops the process in each "
                                 "period: give whole cores");
    } else if ((long)usable < online) {
        dlb_check_found(out, DLB_CHECK_NOTE, "%" PRIu32 " of %ld CPUs, by affinity", usable,
                        online);
        dlb_check_advise(
            out, "count num_workers against the CPUs that are left, or start without taskset");
    } else {
        dlb_check_found(out, DLB_CHECK_OK, "%" PRIu32 " CPUs, no quota", usable);
    }
}

void dlb_check_governor(struct dlb_check_result *out)
{
    char governor[64];

    if (!dlb_procfs_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
                         sizeof governor))
        dlb_check_found(out, DLB_CHECK_OK,
                        "no frequency scaling is visible (usual in virtual machines)");
    else if (strcmp(governor, "performance") == 0)
        dlb_check_found(out, DLB_CHECK_OK, "%s", governor);
    else {
        dlb_check_found(out, DLB_CHECK_NOTE, "%s", governor);
        dlb_check_advise(out, "for steadier figures: cpupower frequency-set -g performance");
    }
}

void dlb_check_load(struct dlb_check_result *out)
{
    double load[1], quota_cores;
    uint32_t n_cpus = dlb_os_n_cpus(&quota_cores);

    if (getloadavg(load, 1) != 1) {
        dlb_check_found(out, DLB_CHECK_NOTE, "the load of the last minute cannot be read");
        return;
    }
    bool busy = load[0] > 0.5 * (double)n_cpus;
    dlb_check_found(out, busy ? DLB_CHECK_NOTE : DLB_CHECK_OK,
                    "load %.1f over the last minute, on %" PRIu32 " CPUs", load[0], n_cpus);
    if (busy)
        dlb_check_advise(out, "other programs use the CPUs: figures will be lower and less steady "
                              "than on a quiet machine");
}

void dlb_check_clock_source(struct dlb_check_result *out)
{
    /* Clocks that the vDSO reads without a system call. */
    static const char *const fast[] = {
        "tsc",      "kvm-clock",        "hyperv_clocksource_tsc_page", "arch_sys_counter",
        "timebase", "riscv_clocksource"};
    char source[64];

    if (!dlb_procfs_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                         sizeof source)) {
        dlb_check_found(out, DLB_CHECK_NOTE, "the clock source cannot be read");
        return;
    }
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++) {
        if (strcmp(source, fast[i]) != 0)
            continue;
        dlb_check_found(out, DLB_CHECK_OK, "%s", source);
        return;
    }
    dlb_check_found(out, DLB_CHECK_BAD, "%s: reading the clock takes a system call", source);
    dlb_check_advise(out, "timing per sample costs more than it should: boot with clocksource=tsc "
                          "if the machine has a stable one");
}

void dlb_check_memory(struct dlb_check_result *out)
{
    uint64_t total_kib = 0, swap_total_kib = 0, swap_free_kib = 0,
             available = dlb_os_mem_available_bytes();

    (void)dlb_procfs_field("/proc/meminfo", "MemTotal:", &total_kib);
    (void)dlb_procfs_field("/proc/meminfo", "SwapTotal:", &swap_total_kib);
    (void)dlb_procfs_field("/proc/meminfo", "SwapFree:", &swap_free_kib);
    if (available == DLB_NOT_MEASURED) {
        dlb_check_found(out, DLB_CHECK_NOTE, "free memory cannot be read");
        return;
    }
    double swapped_gb =
        (double)(swap_total_kib -
                 (swap_free_kib < swap_total_kib ? swap_free_kib : swap_total_kib)) *
        1.024e-6;
    bool low = available < GIB;
    bool swapping = swapped_gb > 0.1;
    dlb_check_found(out,
                    low        ? DLB_CHECK_BAD
                    : swapping ? DLB_CHECK_NOTE
                               : DLB_CHECK_OK,
                    "%.1f of %.1f GB available, %.1f GB swapped out", (double)available * 1e-9,
                    (double)total_kib * 1.024e-6, swapped_gb);
    if (low)
        dlb_check_advise(out, "less than 1 GiB is left: batches of images may not fit, and data "
                              "does not stay in the page cache");
    else if (swapping)
        dlb_check_advise(out,
                         "memory was swapped out: memory was short, and reads may wait for swap");
}

void dlb_check_reclaim(struct dlb_check_result *out)
{
    if (!dlb_reclaim_is_on("/sys")) {
        dlb_check_found(out, DLB_CHECK_OK, "pages stay in memory until it is short");
        return;
    }
    dlb_check_found(out, DLB_CHECK_NOTE,
                    "DAMON takes unused pages out of memory although it is not short");
    dlb_check_advise(out, "the page cache loses data between runs, so that warm ones read some "
                          "again: look at the `cache` line of results");
}

void dlb_check_huge_pages(struct dlb_check_result *out)
{
    char enabled[32];

    if (!dlb_procfs_chosen("/sys/kernel/mm/transparent_hugepage/enabled", enabled,
                           sizeof enabled)) {
        dlb_check_found(out, DLB_CHECK_NOTE, "this kernel has none: batch slots use small pages");
    } else if (strcmp(enabled, "never") == 0) {
        dlb_check_found(out, DLB_CHECK_NOTE, "never");
        dlb_check_advise(out, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled gives "
                              "batch slots huge pages");
    } else {
        dlb_check_found(out, DLB_CHECK_OK, "%s", enabled);
    }
}

void dlb_check_shm(struct dlb_check_result *out)
{
    struct statvfs fs;

    if (statvfs("/dev/shm", &fs) != 0) {
        dlb_check_found(out, DLB_CHECK_NOTE, "/dev/shm is not there");
        dlb_check_advise(out, "dlbench does not need it; PyTorch's worker processes need it");
        return;
    }
    uint64_t total = (uint64_t)fs.f_blocks * fs.f_frsize,
             left = (uint64_t)fs.f_bavail * fs.f_frsize;
    /* Containers get 64 MiB by default: one batch of 256 float32 images of 224 x 224 x 3 has 154
     * MB. */
    bool small = total > 0 && total <= 256 * MIB;
    dlb_check_found(out, small ? DLB_CHECK_NOTE : DLB_CHECK_OK, "%.1f GB, %.1f GB free",
                    (double)total * 1e-9, (double)left * 1e-9);
    if (small)
        dlb_check_advise(out,
                         "dlbench does not need it, but PyTorch's worker processes will not fit: "
                         "docker run --shm-size=8g");
}

void dlb_check_topology(struct dlb_check_result *out)
{
    struct dlb_topo *topo;
    struct dlb_err err;

    if (dlb_topo_missing) {
        dlb_check_found(out, DLB_CHECK_NOTE, "%s", dlb_topo_missing);
        dlb_check_advise(
            out,
            "loader.bind = \"core\" and \"numa\" need it: install libhwloc-dev and build again");
        return;
    }
    if (dlb_topo_open(&topo, &err) != DLB_OK) {
        dlb_check_found(out, DLB_CHECK_BAD, "%s", err.what);
        dlb_check_advise(out, "use loader.bind = \"none\"");
        return;
    }
    dlb_check_found(out, DLB_CHECK_OK,
                    "hwloc %s: %" PRIu32 " cores, %" PRIu32 " hardware threads, %" PRIu32
                    " NUMA node%s",
                    dlb_topo_library(), dlb_topo_n_cores(topo), dlb_topo_n_pus(topo),
                    dlb_topo_n_numa(topo), dlb_topo_n_numa(topo) == 1 ? "" : "s");
    dlb_topo_close(topo);
}
