/* Evidence of a cell that PyTorch loads.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_PYTHON_H
#define DLB_SCENARIOS_JUDGE_PYTHON_H

#include "core/measure/verdict_terms.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>

/* From the interpreter's time stamps: which transform takes longest. The workers' stages are in *e
 * already. `python` (NULL: none) is borrowed for as long as *e is. */
void dlb_evidence_of_python(const struct dlb_spec *spec, const json_t *python,
                            struct dlb_evidence *e);

#endif
