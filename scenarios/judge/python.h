/* Evidence of a cell that PyTorch loads.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_PYTHON_H
#define DLB_SCENARIOS_JUDGE_PYTHON_H

#include "scenarios/judge/judged.h"

#include <jansson.h>

/* Calls of __getitem__, or of an iterator's `next`, within the window; NaN without stamps. */
double dlb_python_asked(const json_t *python);

/* From the interpreter's time stamps: which transform takes longest. The workers' stages are in *e
 * already. `python` (NULL: none) is borrowed for as long as *e is. */
void dlb_evidence_of_python(const struct dlb_spec *spec, const json_t *python,
                            struct dlb_evidence *e);

/* Appends what a reader has to know of a cell that PyTorch loaded: samples that were not asked for
 * once an epoch, epochs of another length than the data set's, stamps that cost more than 2%. */
void dlb_note_python(const struct dlb_plan_cell *planned, const struct dlb_judged_cell *cell,
                     uint32_t number, json_t *notes);

#endif
