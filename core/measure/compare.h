/* By how much the rates of result B differ from those of result A, with intervals and verdicts.
 *
 * Floor 1. Control thread: allocates with core/base/mem.h. Pure.
 *
 * ln(rate) = cell + result + noise. `noise` differs between the repetitions of a cell, `result`
 * between results made at different times: another state of the machine, of its neighbours, of its
 * memory. One result on each side shows the noise alone. So each result is allowed a deviation of
 * its own: a fixed part (between_frac), and DLB_COMPARE_CARRIED of the noise's variance, because
 * noise is partly slow, and what is slow does not average out within a result: no result is
 * trusted more than one repetition. Where others disturbed repetitions, another time will have
 * other disturbances: DLB_COMPARE_DISTURBED of the variance is added for their share. With repeated
 * results on a side, what these differ by is weighed in, as against DLB_COMPARE_PRIOR degrees of
 * freedom of the allowance (after Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004), which are the
 * fewer the more it is exceeded. Where repetitions are paired, results have nothing of their own.
 *
 * All intervals hold together with a probability of 95%: each is of 1 - 0.05 / n (Bonferroni, which
 * needs no independence), where n counts the cells and, with two and more, their mean. A verdict
 * says on which side of the smallest effect of interest an interval lies. docs/compare.md has the
 * simulation, tests/unit/test_compare.c repeats it. */
#ifndef DLB_CORE_MEASURE_COMPARE_H
#define DLB_CORE_MEASURE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#define DLB_COMPARE_SMALLEST 0.01 /* smallest effect of interest, where none is given */
#define DLB_COMPARE_BETWEEN 0.01  /* deviation of a result, where none is given */
#define DLB_COMPARE_BETWEEN_TEXT "1%"
#define DLB_COMPARE_CARRIED 1.0
#define DLB_COMPARE_DISTURBED 3.0 /* more of it, where others disturbed every repetition */
#define DLB_COMPARE_PRIOR 3.0
#define DLB_COMPARE_MISSES 0.05 /* of all intervals together */
#define DLB_COMPARE_POWER 0.8   /* with which detectable_frac is detected */

enum dlb_compare_verdict {
    DLB_COMPARE_UNCLEAR, /* the interval holds changes of more than one kind, or is not known */
    DLB_COMPARE_SAME,    /* less than the smallest effect of interest, either way */
    DLB_COMPARE_FASTER,  /* more than that */
    DLB_COMPARE_SLOWER,
};

/* "UNCLEAR", "SAME", "FASTER", "SLOWER". Static. */
const char *dlb_compare_verdict_name(enum dlb_compare_verdict verdict);

/* Fractions of A's rate; above 0: B is faster. NaN: not known. */
struct dlb_change {
    double change_frac, low, high;
    double detectable_frac; /* a change that would be called one with DLB_COMPARE_POWER */
    enum dlb_compare_verdict verdict;
};

/* The rates of a cell in one result. Values that are not finite or not above 0 are left out. */
struct dlb_compare_reps {
    const double *rate;
    uint32_t n;
};

struct dlb_compare_cell {
    const struct dlb_compare_reps *a, *b; /* [n_a], [n_b] */
};

struct dlb_compare {
    const struct dlb_compare_cell *cells;
    uint32_t n_cells;
    uint32_t n_a, n_b; /* results on each side, 1 or more */
    bool paired;       /* n_a == n_b == 1, and repetition i of a cell ran beside i of the other */
    double smallest_frac, between_frac;
    double disturbed_frac; /* share of the repetitions that others disturbed */
    uint32_t n_more;       /* further intervals that are to hold together with these */
};

struct dlb_comparison {
    struct dlb_change all; /* the geometric mean over cells. Its verdict is UNCLEAR where a cell's
                              says the opposite, or where it is SAME and a cell is not the same */
    uint32_t n_intervals;  /* that hold together */
    double noise_frac;     /* standard deviation of a repetition about its cell; NaN: not known */
    double result_frac;    /* of a result's mean about the cell, over results; 0 if paired */
};

/* changes: [n_cells]. */
void dlb_compare(const struct dlb_compare *in, struct dlb_change *changes,
                 struct dlb_comparison *out);

/* A figure with its 95% interval. */
struct dlb_compare_figure {
    double value, low, high;
};

/* For figures above 0 of which the results hold no repetitions (storage's N). Combines both
 * intervals on the log scale (MOVER: Zou and Donner, Stat. Med. 27, 2008). */
void dlb_compare_figures(const struct dlb_compare_figure *a, const struct dlb_compare_figure *b,
                         const struct dlb_compare *how, uint32_t n_intervals,
                         struct dlb_change *out);

/* Of durations that are parts of a whole and may be 0: what B takes less, as a share of `whole`. */
void dlb_compare_parts(const struct dlb_compare_figure *a, const struct dlb_compare_figure *b,
                       double whole, const struct dlb_compare *how, uint32_t n_intervals,
                       struct dlb_change *out);

/* The verdict of an interval. */
enum dlb_compare_verdict dlb_compare_judge(double low, double high, double smallest_frac);

#endif
