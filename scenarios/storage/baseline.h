/* Compares the pipeline with another program that reads the same files.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_STORAGE_BASELINE_H
#define DLB_SCENARIOS_STORAGE_BASELINE_H

#include "scenarios/scenario.h"

#include <jansson.h>

/* summary.json's storage.baseline: the rate of the program, the rate of the pipeline in the same
 * blocks, and the ratio of the two, paired by block. Null if no baseline was requested. New
 * reference. */
json_t *dlb_storage_baseline_json(const struct dlb_plan *plan, const struct dlb_results *results);

#endif
