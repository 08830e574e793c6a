/* What the first blocks of a race leave far behind rests until the first look.
 *
 * Floor 1, private to the race. Control thread. Pure.
 *
 * A *value* of a key is far behind if two cells or more have it and none of their runs came to a
 * third of the second-best rate of its block: the best may be one run that was too good. After the
 * first block the cells of such values are DLB_RACE_SCREENED, but for one of each value, its
 * fastest, which runs once more: a disturbance may have hit several runs in a row. If that run is
 * not far behind, its value's cells race on, and the first look is a block later: of two runs that
 * differ so much none could tell which was hit. So it is where that run failed, and another one
 * confirms. Six cells run at least, where there are as many. */
#ifndef DLB_CORE_MEASURE_RACE_SCREEN_H
#define DLB_CORE_MEASURE_RACE_SCREEN_H

#include "core/measure/race.h"

/* Of the rate of its block. docs/measurement.md has what it does to races. */
#define DLB_RACE_FAR 0.33

/* Says which cells rest and which run, behind a block before the first look. */
void dlb_race_screen(struct dlb_race *race);

#endif
