/* Whether a GPU's steps took the time that was asked for: all results depend on it.
 *
 * Floor 4, private to scenarios/judge. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_STEP_NOTE_H
#define DLB_SCENARIOS_JUDGE_STEP_NOTE_H

#include "scenarios/scenario.h"

#include <jansson.h>

/* Appends STEP_OFF, if steps of any cell were 2% off or more, on average over the run (3 us
 * longer at least, if they were calibrated well) or when they were calibrated. It names the cell
 * that was furthest off, and what the driver knows of the cause. */
void dlb_note_steps(const struct dlb_judgement *j, json_t *notes);

#endif
