/* TraceML's classes of a cell that stand beside its verdict (core/measure/traceml.h).
 *
 * Floor 4, private to scenarios/judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_CLASSES_H
#define DLB_SCENARIOS_JUDGE_CLASSES_H

#include "scenarios/scenario.h"

/* An array of "LOW_UTILISATION" or "MODERATE_UTILISATION", "MEMORY_RISING" or "MEMORY_CREEP",
 * "WARMUP": of the repetition that is shown. New reference. */
json_t *dlb_classes_json(const struct dlb_judged_cell *cell);

/* Notes memory that grew. */
void dlb_classes_note(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes);

#endif
