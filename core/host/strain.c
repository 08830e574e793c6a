#include "core/host/strain.h"

#include "core/base/clock.h"
#include "core/host/osacct_parse.h"
#include "core/host/procfs.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS 4096

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345" in microseconds. */
static uint64_t pressure_ns(const char *root)
{
    char path[PATH_MAX], text[256];
    uint64_t total_us;
    (void)snprintf(path, sizeof path, "%s/proc/pressure/cpu", root);
    if (!dlb_procfs_text(path, text, sizeof text) || strncmp(text, "some ", 5) != 0)
        return DLB_NOT_MEASURED;
    text[strcspn(text, "\n")] = '\0';
    const char *total = strstr(text, "total=");
    return total && dlb_parse_u64(total + 6, &total_us) ? total_us * DLB_NS_PER_US
                                                        : DLB_NOT_MEASURED;
}

static uint64_t n_hot(const char *root)
{
    static const char *const names[] = {"core_throttle_count", "package_throttle_count"};
    uint64_t sum = 0, one;
    bool any = false;
    for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d", root, cpu);
        if (access(path, F_OK) != 0)
            break;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            (void)snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/thermal_throttle/%s",
                           root, cpu, names[i]);
            if (!dlb_procfs_u64(path, &one))
                continue;
            sum += one;
            any = true;
        }
    }
    return any ? sum : DLB_NOT_MEASURED;
}

void dlb_os_strain_at(const char *root, struct dlb_os_strain *out)
{
    char path[PATH_MAX], text[512]; /* the first line is that for all CPUs */
    (void)snprintf(path, sizeof path, "%s/proc/stat", root);
    out->now_ns = dlb_now_ns();
    out->machine = dlb_os_machine_parse(dlb_procfs_text(path, text, sizeof text) ? text : NULL);
    out->pressure_ns = pressure_ns(root);
    out->throttled_ns = dlb_cgroup_throttled_ns(root);
    out->n_hot = n_hot(root);
}

void dlb_os_strain(struct dlb_os_strain *out)
{
    dlb_os_strain_at("", out);
}

double dlb_os_rise(uint64_t before, uint64_t after)
{
    bool known = before != DLB_NOT_MEASURED && after != DLB_NOT_MEASURED && after >= before;
    return known ? (double)(after - before) : (double)NAN;
}
