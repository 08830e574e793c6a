/* Whether a GPU's steps took the time that was asked for: all results depend on it.
 *
 * Floor 4, private to scenarios/judge. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_STEP_NOTE_H
#define DLB_SCENARIOS_JUDGE_STEP_NOTE_H

#include "scenarios/cell/cell_result.h"

#include <jansson.h>

/* Appends STEP_OFF, if steps were 2% off or more, on average over the run or when they were
 * calibrated. It names what the driver knows of the cause. */
void dlb_note_step(const struct dlb_device_result *device, json_t *notes);

#endif
