/* The pipeline beside another program that reads the same.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_STORAGE_BASELINE_H
#define DLB_SCENARIOS_STORAGE_BASELINE_H

#include "scenarios/scenario.h"

#include <jansson.h>

/* summary.json's storage.baseline: what the program reached, the pipeline in the same blocks, and
 * the share that this is of that, paired by block. Null where none was asked for. New reference;
 * NULL when memory is short. */
json_t *dlb_storage_baseline_json(const struct dlb_plan *plan, const struct dlb_results *results);

#endif
