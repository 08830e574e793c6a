/* What the last phase of a race says.
 *
 * Floor 1, private to the race. Any thread. Pure. */
#ifndef DLB_CORE_MEASURE_RACE_FRESH_H
#define DLB_CORE_MEASURE_RACE_FRESH_H

#include "core/measure/race.h"

#define DLB_RACE_FRESH_MIN 6 /* blocks of the last phase: an interval of t with 5 degrees */

/* The loss of `recommended` to `rival`, from the pairs of the fresh blocks: the middle of their
 * differences of ln rate, of which one that is far away counts less, with an interval of t that
 * misses that often. Losses are not negative: a cell that is faster than its rival loses nothing to
 * the best of the two. NaN: too few pairs.
 *
 * Source: Huber (Ann. Math. Stat. 35, 1964), estimate and variance. Far is measured in the scatter
 * that the race knew before these blocks, or in the pairs' own if that is wider. */
struct dlb_race_interval dlb_race_fresh_loss(const struct dlb_race *race, double misses);

#endif
