/* What is watched beside a cell's loop: the driver's account of a GPU, the process's own, memory.
 *
 * Floor 4, private to scenarios/cell. Control thread; threads that it starts take samples. */
#ifndef DLB_SCENARIOS_CELL_BESIDE_H
#define DLB_SCENARIOS_CELL_BESIDE_H

#include "scenarios/cell/fill.h"

struct dlb_cell_beside {
    struct dlb_nvml *nvml;
    struct dlb_memwatch *memory;
};

/* Directly before and behind the loop. Fills before, after, strain_before, strain_after, nvml and
 * growth of the facts. */
void dlb_cell_beside_begin(struct dlb_cell_beside *beside, struct dlb_cell_facts *facts);
void dlb_cell_beside_end(struct dlb_cell_beside *beside, struct dlb_cell_facts *facts);

#endif
