/* What a race knows after a block: each cell's chances, and who runs on.
 *
 * Floor 1, private to the race. Control thread: allocates with core/base/mem.h. Pure. */
#ifndef DLB_CORE_MEASURE_RACE_LOOK_H
#define DLB_CORE_MEASURE_RACE_LOOK_H

#include "core/measure/race.h"

#define DLB_RACE_ALONGSIDE 6 /* cells of a block at least: one that was unlucky is seen again */

/* Weighs all recorded blocks: probabilities, the leader (-1: no cell is left), and which cells run
 * in the next block. */
void dlb_race_look(struct dlb_race *race);

/* The losses of all cells that were measured, dropped ones included; and the keys. */
void dlb_race_estimate_losses(struct dlb_race *race);

bool dlb_race_survives(const struct dlb_race *race, uint32_t cell);

/* Than `b`; -1: than none. */
bool dlb_race_is_smaller(const struct dlb_race *race, uint32_t a, int64_t b);

/* The smallest survivor that is at least this probable; -1: none is. */
int64_t dlb_race_smallest(const struct dlb_race *race, double probability);

/* Of the survivors. */
double dlb_race_highest(const struct dlb_race *race);

/* Whether a cell that runs on for that reason may be better than the choice. */
bool dlb_race_in_doubt(const struct dlb_race *race);

/* Whether another cell may beat this one by more than the tolerance, if it is an exception: its own
 * runs do not exclude that. */
bool dlb_race_is_contested(struct dlb_race *race, uint32_t cell);

/* That it is better than the leader by more than the tolerance, or than the choice if it is an
 * exception. */
double dlb_race_chance(const struct dlb_race_cell *cell);

/* How many pairs the last phase takes: so many that the interval of the loss is about as wide as
 * the tolerance to either side. */
uint32_t dlb_race_plan_fresh(const struct dlb_race *race);

#endif
