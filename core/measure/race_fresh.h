/* What the last phase of a race says.
 *
 * Floor 1, private to the race. Any thread. Pure. */
#ifndef DLB_CORE_MEASURE_RACE_FRESH_H
#define DLB_CORE_MEASURE_RACE_FRESH_H

#include "core/measure/race.h"

#define DLB_RACE_FRESH_MIN 6 /* blocks of the last phase: an interval of t with 5 degrees */

/* The loss of `recommended` to `rival`, from the pairs of the fresh blocks: an interval of t on
 * differences of ln rate, which misses that often. Losses are not negative: a cell that is faster
 * than its rival loses nothing to the best of the two. NaN: too few pairs. */
struct dlb_race_interval dlb_race_fresh_loss(const struct dlb_race *race, double misses);

#endif
