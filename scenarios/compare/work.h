/* Whether the cells of a pair did the same work: samples that dataset.on_error = "skip" left out
 * are part of no rate, so a result that skipped the slow ones looks fast.
 *
 * Floor 4, private to scenarios/compare. Pure. */
#ifndef DLB_SCENARIOS_COMPARE_WORK_H
#define DLB_SCENARIOS_COMPARE_WORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_work {
    double a, b; /* shares of samples skipped, of each side that which is furthest from the other's;
                    NaN: not known */
    bool differs; /* some two results of A and B are more than smallest_frac apart, or it is not
                     known whether they are */
};

/* Cells of A's and B's results; NULL: the result has none. */
struct dlb_work dlb_work_of(const json_t *const *a, uint32_t n_a, const json_t *const *b,
                            uint32_t n_b, double smallest_frac);

/* Puts "a_skipped_frac", "b_skipped_frac" and "work_differs" into a pair. */
void dlb_work_put(json_t *pair, const struct dlb_work *work);

#endif
