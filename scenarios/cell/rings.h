/* The rings of a cell's timeline: one for each thread of it that is recorded.
 *
 * Floor 4, private to scenarios/cell. Control thread, before workers exist. */
#ifndef DLB_SCENARIOS_CELL_RINGS_H
#define DLB_SCENARIOS_CELL_RINGS_H

#include "core/base/err.h"
#include "core/measure/trace.h"
#include "scenarios/spec/spec.h"

#include <stdint.h>

/* Nothing if trace is NULL. */
int dlb_cell_trace_open(struct dlb_trace *trace, const struct dlb_spec *spec, uint32_t n_loaders,
                        struct dlb_err *err);

#endif
