/* The data sets that a plan's tasks opened, and the id that each had first: a data set that changes
 * meanwhile fails its cells.
 *
 * Floor 4, private to scenarios/run. Control thread; pure. */
#ifndef DLB_SCENARIOS_RUN_KNOWN_DATA_H
#define DLB_SCENARIOS_RUN_KNOWN_DATA_H

#include "scenarios/spec/spec.h"

#include <stdint.h>

/* Zeroed: none. */
struct dlb_known_data {
    struct dlb_known_set {
        struct dlb_spec spec; /* whose settings choose it */
        uint64_t id;          /* dlb_shape.id */
    } * set;                  /* [n]; owned: free() */
    uint32_t n;
};

/* The id that the spec's data set must have; 0: not known, also for NULL. */
uint64_t dlb_known_data_id(const struct dlb_known_data *known, const struct dlb_spec *spec);

/* Keeps the id of a data set that has none yet. NULL and 0: nothing to keep. */
void dlb_known_data_add(struct dlb_known_data *known, const struct dlb_spec *spec, uint64_t id);

#endif
