/* The rings of a timeline that an interpreter and its workers write to (dlbench_trace.py).
 *
 * Floor 3, private to loaders/torch. The consumer's thread. */
#ifndef DLB_LOADERS_TORCH_RINGS_H
#define DLB_LOADERS_TORCH_RINGS_H

#include "core/measure/trace.h"

#include <jansson.h>
#include <stdint.h>

/* For the interpreter's set-up: where the memory is, and where in it the rings of loader `nth`
 * begin. New reference. NULL without a trace. */
json_t *dlb_torch_rings(const struct dlb_trace *trace, uint32_t nth);

/* Takes what the stages are called from `names` of the interpreter's account. */
void dlb_torch_rings_names(struct dlb_trace *trace, const json_t *names);

#endif
