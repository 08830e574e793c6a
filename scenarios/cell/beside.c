#include "scenarios/cell/beside.h"

#include "core/base/json.h"
#include "core/host/memwatch.h"
#include "core/host/nvml.h"

void dlb_cell_beside_begin(struct dlb_cell_beside *beside, struct dlb_cell_facts *facts)
{
    const char *bus_id = dlb_json_text(facts->gpu, "pci_bus_id");
    beside->nvml = bus_id[0] ? dlb_nvml_start(bus_id) : NULL;
    beside->memory = dlb_memwatch_start();
    dlb_os_process(&facts->before);
    dlb_os_strain(&facts->strain_before);
}

void dlb_cell_beside_end(struct dlb_cell_beside *beside, struct dlb_cell_facts *facts)
{
    double bytes[DLB_MEMWATCH_MAX];
    dlb_os_process(&facts->after);
    dlb_os_strain(&facts->strain_after);
    facts->nvml = dlb_nvml_stop(beside->nvml);
    uint32_t n = dlb_memwatch_stop(beside->memory, bytes);
    dlb_traceml_classify_memory(bytes, n, &facts->growth);
}
