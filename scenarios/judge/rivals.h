/* Which cells do the same work, so that their rates may be compared.
 *
 * Floor 4, private to the judge. Pure. */
#ifndef DLB_SCENARIOS_JUDGE_RIVALS_H
#define DLB_SCENARIOS_JUDGE_RIVALS_H

#include "scenarios/scenario.h"

/* Fills `rival` of each cell. With j->best, which must be a cell. */
void dlb_rivals_fill(const struct dlb_plan *plan, struct dlb_judgement *j);

/* "device.step_ms or loader.batch_size": the axes that make cells other work than `best`; empty
 * without one. Returns `text`. */
const char *dlb_rivals_apart(const struct dlb_axes *axes, const struct dlb_spec *best, char *text,
                             size_t n_text);

#endif
