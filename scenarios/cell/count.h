/* How many samples, batches and epochs a cell's loop is to take.
 *
 * Floor 4, private to scenarios/cell. Control thread. */
#ifndef DLB_SCENARIOS_CELL_COUNT_H
#define DLB_SCENARIOS_CELL_COUNT_H

#include "core/base/err.h"
#include "formats/dataset.h"
#include "loaders/loader.h"
#include "loaders/train/consumer.h"
#include "scenarios/spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

/* All borrowed. */
struct dlb_cell_count {
    const struct dlb_spec *spec;
    const struct dlb_dataset *dataset;
    const struct dlb_job *jobs; /* [n_loaders] */
    uint32_t n_loaders;
    uint32_t n_busy; /* workers of a loader that have something to read */
    bool ceiling;
};

/* Sets rounds, batches and epochs in *how, what its loaders' share of an epoch is, and what of it
 * they deliver twice. how->n_feeds and how->n_epochs must be set. */
int dlb_cell_count(const struct dlb_cell_count *count, struct dlb_consume *how,
                   struct dlb_err *err);

#endif
