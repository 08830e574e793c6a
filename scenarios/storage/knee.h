/* How utilisation falls with the number of accelerators: a curve fitted to all repetitions, and the
 * number at which it crosses the gate.
 *
 * Floor 4. Pure. Independent accelerators that ask for r samples/s each get min(n r, C) together
 * from a storage that delivers C: their utilisation is 1 up to a knee, and falls as C / (n r) from
 * there on. Real knees are round. The family
 *
 *   utilisation(n) = (1 + (n / knee)^p)^(-1 / p)
 *
 * has the sharp one for p = infinity, and p = 1 for accelerators that never overlap with reading.
 * Two figures are fitted: where the curve crosses the gate, and p. Repetitions differ by a factor
 * (one standard deviation of its logarithm for all numbers).
 *
 * The interval is the profile's: each crossing for which some p leaves residuals that a t-test at
 * 5% does not tell from the best ones. Lack of fit is tested by F: the curve's misses of the means
 * against the scatter of repetitions around their own means. */
#ifndef DLB_SCENARIOS_STORAGE_KNEE_H
#define DLB_SCENARIOS_STORAGE_KNEE_H

#include <stdbool.h>
#include <stdint.h>

#define DLB_KNEE_LACK_P 0.01 /* from here down the curve does not fit */

struct dlb_knee_point {
    uint32_t n; /* accelerators */
    uint32_t n_values;
    const double *au; /* [n_values] borrowed */
};

struct dlb_knee {
    bool fitted; /* at least three numbers and two more values than figures; else all NaN */
    double at, low, high; /* accelerators at the gate, and the 95% interval; any real numbers */
    double sharpness;     /* p; INFINITY */
    double noise_frac;    /* standard deviation of a repetition */
    double lack_of_fit_p; /* NaN: no number was repeated */
    uint32_t n_values;    /* that it was fitted to */
    uint32_t n_left_out;  /* of numbers with three values and more: far from their median */
};

/* gate: above 0, below 1. Points are in any order, each n once. */
void dlb_knee_fit(const struct dlb_knee_point *points, uint32_t n_points, double gate,
                  struct dlb_knee *out);

/* How far, in ln n, the fitted curve would have to move to pass through this utilisation of n
 * accelerators; negative: to fewer. NaN where the curve is less than half as steep as at the gate:
 * what the storage gives does not show there. */
double dlb_knee_off(const struct dlb_knee *knee, double gate, uint32_t n, double au);

#endif
