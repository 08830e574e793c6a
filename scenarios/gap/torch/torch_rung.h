/* The PyTorch rungs: their names, the memory that they take, and what scenarios/gap/torch/rung.py
 * is asked for.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_GAP_TORCH_TORCH_RUNG_H
#define DLB_SCENARIOS_GAP_TORCH_TORCH_RUNG_H

#include "scenarios/gap/rungs/params.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

extern const char *const dlb_gap_torch_names[]; /* in the ladder's order; ends with NULL */

/* The most memory that a PyTorch rung takes, all its processes together; 0 for another name. */
uint64_t dlb_gap_torch_bytes(const struct dlb_gap_params *params, const char *name);

/* All borrowed. */
struct dlb_gap_torch_spec {
    const json_t *flat; /* the configuration, as C rungs get it */
    const struct dlb_gap_params *params;
    const struct dlb_device *device; /* of the C rungs */
    const char *exe;                 /* this program, which writes the array to a pipe */
    const char *name;
    bool check; /* the warm-up is a whole epoch and its content is checksummed */
};

/* The specification that rung.py reads. New reference. */
json_t *dlb_gap_torch_spec_json(const struct dlb_gap_torch_spec *spec);

#endif
