/* How many accelerators: which number to measure next, and when the search ends.
 *
 * Floor 4. Pure: given what was measured so far, the same answer. The number looked for is N, the
 * largest whose utilisation reaches the gate.
 *
 * A ramp (1, 2, 4, ...) finds a number that misses the gate, bisection closes in, and the two at
 * the border are repeated in turns. Then a curve is fitted to the numbers from half of the border
 * to twice of it (knee.h). The number that is measured next is the end of the interval that is
 * farther from the crossing, where the curve is known least. That goes on until the interval holds
 * one number, or the values are spent. N is the curve's, and N and N + 1 are repeated.
 *
 * Over ranks `au` is that of the rank that the caller has chosen (worst.h). Another one may be fed
 * less. How far its crossing is from the curve's is the median of its repetitions, and the interval
 * reaches down as far as that of the lowest rank would.
 *
 * Where no curve describes what was measured, the repetitions decide. A number's verdict is its
 * median's, and N is the largest below the first that misses the gate. `low` is the largest number
 * up to N of which every repetition kept the gate, `high` the largest of all of which at least one
 * did. They are searched with growing strides. On noisy storage that range holds N less often than
 * it seems (docs/storage.md).
 *
 * It ends: a number is measured `repeats` times at most, and only its first `repeats` values
 * count. */
#ifndef DLB_SCENARIOS_STORAGE_SEARCH_H
#define DLB_SCENARIOS_STORAGE_SEARCH_H

#include "scenarios/storage/knee.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_search_point {
    uint32_t n; /* accelerators */
    uint32_t n_values;
    const double *au;      /* [n_values] one per repetition, in their order */
    const double *rank_au; /* [n_values][n_ranks] over ranks, else NULL */
    bool impossible; /* this machine lacks memory or descriptors for it: counts as missing the gate,
                        is never repeated */
};

struct dlb_search {
    double gate;                           /* utilisation that a number must reach */
    uint32_t max_n, repeats;               /* both at least 1 */
    const struct dlb_search_point *points; /* [n_points] each n once, in any order */
    uint32_t n_points;
    uint32_t n_ranks; /* 0: one process, or `au` is not chosen among them */
    bool spent;       /* there is no time left: end with what there is */
};

struct dlb_search_step {
    bool done;
    uint32_t n; /* not done: what to measure once more */
    /* Done: */
    uint32_t best, low, high; /* 0: not even one accelerator keeps the gate */
    bool capped; /* best + 1 was not measured, because it is beyond max_n or impossible: N may be
                    larger */
    bool cut;    /* `spent` ended it: best is the largest that kept the gate so far; high is
                    UINT32_MAX if none missed it */
    bool fitted; /* best, low and high are the curve's, else those of the repetitions */
    struct dlb_knee knee; /* .fitted also where it was rejected, for lack of fit or for noise */
};

/* The largest number that keeps the gate though a smaller one, *missed, does not: the curve is not
 * monotone then. 0: none. */
uint32_t dlb_search_kept_above(const struct dlb_search *search, uint32_t *missed);

void dlb_search_next(const struct dlb_search *search, struct dlb_search_step *step);

/* About how many repetitions it takes to find an N of that size. */
uint32_t dlb_search_n_runs(uint32_t n, uint32_t repeats);

/* Median of the values that count; NaN without any. */
double dlb_search_median(const struct dlb_search *search, const struct dlb_search_point *point);

#endif
