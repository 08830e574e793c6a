/* Which rank the gate is held against, where cells ran over ranks: the one that is fed worst,
 * because all others wait for it.
 *
 * Floor 4. Pure. The lowest of R noisy values is low by chance. So no repetition takes part in the
 * choice of its own rank. Repetitions are two halves, and each half has the rank that was fed worst
 * in the other one. Of equal ranks its values are as high there as any rank's.
 *
 * A starved rank counts, though it be another one in each repetition. Where the lowest rank of a
 * repetition is lower than chance makes the lowest of R ranks, its value is that repetition's.
 * Where the lowest ranks of all repetitions together are, each repetition has the value of its
 * lowest. Chance is what ranks usually differ by, from the middle one.
 *
 * Only repetitions in which some rank missed the gate choose, since below the knee all ranks are
 * fed alike. A rank's share is its utilisation over the middle one of the ranks in that repetition;
 * the rank with the lowest median of shares is the one. */
#ifndef DLB_SCENARIOS_STORAGE_WORST_H
#define DLB_SCENARIOS_STORAGE_WORST_H

#include <stdint.h>

struct dlb_worst {
    uint32_t n_reps, n_ranks; /* at least one rank */
    const double *au;         /* [n_reps][n_ranks] nominal utilisations, finite and not below 0 */
    const uint8_t *half;      /* [n_reps] 0 or 1 */
    double gate;
};

/* values: [n_reps] of the chosen ranks. The lowest of all ranks where one was starved, and where
 * the other half has nothing to choose by. */
void dlb_worst_values(const struct dlb_worst *worst, double *values);

#endif
