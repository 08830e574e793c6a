/* Batch memory on the NUMA node of the GPU that it is copied to.
 *
 * Floor 4. The training loop's thread, before the memory is pinned. */
#ifndef DLB_SCENARIOS_CELL_NUMA_H
#define DLB_SCENARIOS_CELL_NUMA_H

#include "loaders/loader.h"

#include <jansson.h>

/* Moves the memory of a loader to the node of the GPU at this PCI address, where there are
 * several; a failure costs speed and does not end the run. Returns gpu.numa of
 * summary.schema.json; new reference, NULL when memory is short. */
json_t *dlb_numa_place(const char *pci_bus_id, const struct dlb_memory *memory);

#endif
