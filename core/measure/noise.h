/* How much repetitions of a cell differ by themselves, and the smallest loss that they can tell.
 *
 * Floor 1. Pure; allocates. */
#ifndef DLB_CORE_MEASURE_NOISE_H
#define DLB_CORE_MEASURE_NOISE_H

#include <stdbool.h>
#include <stdint.h>

/* One repetition. */
struct dlb_noise_rep {
    uint32_t cell, block;
    double rate; /* > 0 */
};

struct dlb_noise {
    double sd_frac;    /* of one repetition about its cell, without what its block's have in common;
                          pooled over cells. NaN: no cell has two repetitions */
    double floor_frac; /* half width of the 95% interval of one cell's loss to another, as the
                          median over blocks; NaN likewise */
    uint32_t n_freedom; /* degrees of freedom of sd_frac */
};

/* ln(rate) = cell + block + noise; residuals beyond three robust standard deviations are clipped,
 * because medians are not moved by them either. Blocks are left out where there is one cell, and
 * cells and blocks that have one repetition, which tell nothing.
 * n_each: repetitions of each of two cells that are compared. */
void dlb_noise_of(const struct dlb_noise_rep *reps, uint32_t n, uint32_t n_each,
                  struct dlb_noise *out);

/* Whether two cells, paired by block, have the same rate but for less than `tolerance` of the
 * higher one: two 95% intervals of the mean of ln(a / b) lie within it, that of these pairs and
 * that with the pooled noise. Few pairs may be alike by chance, and pooled noise lacks what is
 * clipped. Rates are finite and above 0. False for fewer than DLB_MEAN_MIN_N pairs. */
bool dlb_noise_equal(const struct dlb_noise *noise, const double *a, const double *b, uint32_t n,
                     double tolerance);

#endif
