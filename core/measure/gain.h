/* What would be gained if data were always ready: ceiling / measured, with an interval.
 *
 * Floor 1. Control thread: allocates with core/base/mem.h. Pure.
 *
 * A repetition's ln gain is its cell's mean and noise. The noise's variance is the cell's own,
 * shrunk towards the one that is pooled over the cells (Smyth, Stat. Appl. Genet. Mol. Biol. 3,
 * 2004), because few repetitions say little of it. Cells that share a ceiling share its noise, too:
 * the more of it is shared, the fewer degrees of freedom the pooled variance has.
 *
 * The intervals of one call hold together: the probability that any of them misses is about
 * DLB_GAIN_MISSES (Bonferroni, over the cells as far as their noise is not shared: Nyholt, Am. J.
 * Hum. Genet. 74, 2004), so that verdicts on two cells do not contradict each other by chance. A
 * single cell has nothing to contradict, and a 95% interval. docs/verdict.md has the simulation,
 * tests/unit/test_gain.c repeats it. */
#ifndef DLB_CORE_MEASURE_GAIN_H
#define DLB_CORE_MEASURE_GAIN_H

#include <stdint.h>

#define DLB_GAIN_MISSES 0.01
#define DLB_GAIN_MISSES_ALONE 0.05

struct dlb_gain {
    double median;    /* ceiling / measured: the geometric mean; NaN: not known */
    double low, high; /* NaN: not known, as with one repetition */
    uint32_t n;       /* repetitions; 0: no ceiling was measured */
};

/* ln_gain: [n_blocks][n_cells] ln(ceiling / measured); not finite: not measured. out: [n_cells]. */
void dlb_gains(const double *ln_gain, uint32_t n_blocks, uint32_t n_cells, struct dlb_gain *out);

#endif
