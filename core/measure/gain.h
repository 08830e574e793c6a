/* What would be gained if data were always ready: ceiling / measured, with an interval.
 *
 * Floor 1. Control thread: allocates with core/base/mem.h. Pure.
 *
 * A repetition's ln gain is its cell's mean and noise. The noise's variance is the cell's own,
 * shrunk towards the one that is pooled over the cells (Smyth, Stat. Appl. Genet. Mol. Biol. 3,
 * 2004), because few repetitions say little of it. Cells that share a ceiling share its noise, too:
 * the more of it is shared, the fewer degrees of freedom the pooled variance has.
 *
 * Intervals are of 95%. Verdicts go by whether they lie above or below a threshold, and of many
 * cells that are alike, one interval lies above by chance and one below. So where two cells would
 * contradict each other, and their gains cannot be told apart, both get a wider interval: of those
 * of all cells, together, about DLB_GAIN_MISSES miss (Bonferroni, over the cells as far as their
 * noise is not shared: Nyholt, Am. J. Hum. Genet. 74, 2004). docs/verdict.md has the simulation,
 * tests/unit/test_gain.c repeats it. */
#ifndef DLB_CORE_MEASURE_GAIN_H
#define DLB_CORE_MEASURE_GAIN_H

#include <stdint.h>

#define DLB_GAIN_MISSES 0.01

struct dlb_gain {
    double median;    /* ceiling / measured: the geometric mean; NaN: not known */
    double low, high; /* NaN: not known, as with one repetition */
    uint32_t n;       /* repetitions; 0: no ceiling was measured */
};

/* ln_gain: [n_blocks][n_cells] ln(ceiling / measured); not finite: not measured. out: [n_cells]. */
void dlb_gains(const double *ln_gain, uint32_t n_blocks, uint32_t n_cells, double threshold,
               struct dlb_gain *out);

#endif
