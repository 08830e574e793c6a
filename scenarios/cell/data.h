/* The data set of a cell: opened, compared with what the run began with, and, for a warm pass, read
 * in batches that memory has room for.
 *
 * Floor 4, private to scenarios/cell. Control thread. */
#ifndef DLB_SCENARIOS_CELL_DATA_H
#define DLB_SCENARIOS_CELL_DATA_H

#include "formats/dataset.h"
#include "scenarios/cell/cell.h"
#include "scenarios/spec/spec.h"

#include <stdint.h>

struct dlb_cell_data {
    struct dlb_dataset set;
    uint64_t id;        /* of what was opened; 0: nothing was */
    char not_done[160]; /* why the warm pass is left out; empty: it is not */
};

/* `id`: of the data that the run began with; 0: not known. A warm pass changes spec->loader. The
 * caller closes data->set, whatever happens. DLB_ERR_DATASET_CHANGED, and what dlb_dataset_open
 * has. */
int dlb_cell_data_open(struct dlb_cell_data *data, struct dlb_spec *spec, enum dlb_cell_mode mode,
                       uint64_t id, struct dlb_err *err);

#endif
