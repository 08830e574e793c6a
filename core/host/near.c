#include "core/host/near.h"

#include "core/host/cpulist.h"
#include "core/host/procfs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool node_of(const char *root, const char *bus_id, struct dlb_near *out)
{
    char path[PATH_MAX], list[DLB_CPULIST_TEXT];
    uint64_t node;
    (void)snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/numa_node", root, bus_id);
    if (!dlb_procfs_u64(path, &node) || node > UINT32_MAX) /* "-1": the kernel does not know */
        return false;
    out->node = (uint32_t)node;
    (void)snprintf(path, sizeof path, "%s/sys/devices/system/node/node%u/cpulist", root, out->node);
    return dlb_procfs_text(path, list, sizeof list) && dlb_cpulist_parse(list, &out->cpus);
}

/* Whether *mine are all CPUs that the process could have. The kernel cuts what is asked for to
 * those that are online and, in a control group, to the group's. */
static bool is_unbound(cpu_set_t *mine)
{
    cpu_set_t all, most;
    memset(&all, 0xff, sizeof all);
    if (sched_getaffinity(0, sizeof *mine, mine) != 0 ||
        sched_setaffinity(0, sizeof all, &all) != 0)
        return false;
    bool same = sched_getaffinity(0, sizeof most, &most) == 0 && CPU_EQUAL(mine, &most);
    if (!same)
        (void)sched_setaffinity(0, sizeof *mine, mine);
    return same;
}

bool dlb_near_bind(const char *root, const char *bus_id, struct dlb_near *out)
{
    cpu_set_t mine;
    if (!node_of(root, bus_id, out) || !is_unbound(&mine))
        return false;
    CPU_AND(&out->cpus, &out->cpus, &mine);
    return CPU_COUNT(&out->cpus) > 0 && !CPU_EQUAL(&out->cpus, &mine) &&
           sched_setaffinity(0, sizeof out->cpus, &out->cpus) == 0;
}
