#include "scenarios/cell/numa.h"

#include "core/host/nvidia.h"
#include "core/host/topo.h"

#include <sched.h>

static int bind(uint32_t node, const struct dlb_memory *memory, bool *bound, struct dlb_err *err)
{
    struct dlb_topo *topo;

    int rc = dlb_topo_open(&topo, err);
    if (rc != DLB_OK)
        return rc;
    rc = dlb_topo_bind_memory(topo, node, memory->addr, memory->n_bytes, bound, err);
    dlb_topo_close(topo);
    return rc;
}

static json_t *number_or_null(bool known, uint32_t value)
{
    return known ? json_integer((json_int_t)value) : json_null();
}

json_t *dlb_numa_place(const char *pci_bus_id, const struct dlb_memory *memory)
{
    uint32_t node = 0, distance = 0;
    unsigned cpu, own = 0;
    bool bound = false, known = dlb_pci_numa_node(pci_bus_id, &node);
    bool far = known && getcpu(&cpu, &own) == 0 && dlb_numa_distance(own, node, &distance);
    struct dlb_err err = {.offset_bytes = DLB_NO_OFFSET};
    const char *why = "the kernel does not say which node the GPU is at: one node, or a virtual "
                      "machine that hides it";

    if (known && memory->n_bytes == 0)
        why = "there is no batch memory";
    else if (known && bind(node, memory, &bound, &err) != DLB_OK)
        why = err.what;
    else if (known)
        why = bound ? "batch memory was moved to the GPU's node" : "there is one node";
    return json_pack("{so, so, sb, ss}", "node", number_or_null(known, node), "distance",
                     number_or_null(far, distance), "bound", bound, "why", why);
}
