/* What an epoch of a cell should deliver.
 *
 * Floor 4, private to scenarios/cell. Control thread. */
#ifndef DLB_SCENARIOS_CELL_EXPECTED_H
#define DLB_SCENARIOS_CELL_EXPECTED_H

#include "core/base/err.h"
#include "formats/dataset.h"
#include "loaders/loader.h"
#include "loaders/train/consumer.h"
#include "scenarios/spec/spec.h"

#include <stdint.h>

/* Fills how->expected and how->padded: what all ranks of this process deliver in an epoch, and what
 * they deliver twice by padding. jobs: [n_loaders]. */
int dlb_cell_expected(const struct dlb_spec *spec, const struct dlb_dataset *dataset,
                      const struct dlb_job *jobs, uint32_t n_loaders, struct dlb_consume *how,
                      struct dlb_err *err);

#endif
