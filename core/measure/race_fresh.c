#include "core/measure/race_fresh.h"

#include "core/base/mem.h"
#include "core/measure/stats.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stdlib.h>

#define CLIP 1.5             /* standard deviations from the middle: chosen by simulation */
#define MAD_OF_NORMAL 1.4826 /* standard deviation / median absolute deviation */
#define N_ROUNDS 50          /* of reweighting: further ones change no digit that is shown */

/* Differences of ln rate, rival - recommended, of the pairs in which both were measured. */
static uint32_t pairs_of(const struct dlb_race *race, double *behind)
{
    uint32_t n = 0;
    for (uint32_t b = race->fresh_from; b < race->n_blocks; b++) {
        const double *row = race->ln_rate + (size_t)b * race->input.n_cells;
        double difference = row[race->rival] - row[race->recommended];
        if (isfinite(difference))
            behind[n++] = difference;
    }
    return n;
}

static double clipped(double from_middle, double limit)
{
    return fmin(fmax(from_middle, -limit), limit);
}

/* Farther than this from the middle, a pair counts as if it were there. Half of the pairs lie
 * within one median absolute deviation, which is less. */
static double limit_of(const double *behind, double middle, uint32_t n, double scatter)
{
    double *away = dlb_mem_array(n, sizeof(*away));
    for (uint32_t i = 0; i < n; i++)
        away[i] = fabs(behind[i] - middle);
    double own = MAD_OF_NORMAL * dlb_median(away, n);
    free(away);
    return CLIP * fmax(own, isfinite(scatter) ? M_SQRT2 * scatter : 0);
}

/* The mean of clipped pairs, in which the clipped ones move nothing. */
static double middle_of(const double *behind, double from, uint32_t n, double limit)
{
    double middle = from;
    for (int round = 0; round < N_ROUNDS; round++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += clipped(behind[i] - middle, limit);
        middle += sum / n;
    }
    return middle;
}

static double error_of(const double *behind, double middle, uint32_t n, double limit)
{
    double squares = 0, n_within = 0;
    for (uint32_t i = 0; i < n; i++) {
        double away = clipped(behind[i] - middle, limit);
        squares += away * away;
        n_within += fabs(behind[i] - middle) <= limit;
    }
    return sqrt(squares * n / (n - 1)) / n_within;
}

struct dlb_race_interval dlb_race_fresh_loss(const struct dlb_race *race, double misses)
{
    struct dlb_race_interval loss = {NAN, NAN, NAN};
    double *behind = dlb_mem_array(race->n_blocks, sizeof(*behind));
    uint32_t n = pairs_of(race, behind);
    if (n >= DLB_RACE_FRESH_MIN - 1) {
        double start = dlb_median(behind, n);
        double limit = limit_of(behind, start, n, race->scatter);
        double middle = middle_of(behind, start, n, limit);
        double half = dlb_t_beyond(misses, n - 1) * error_of(behind, middle, n, limit);
        loss = (struct dlb_race_interval){-expm1(-fmax(middle, 0)), -expm1(-fmax(middle - half, 0)),
                                          -expm1(-fmax(middle + half, 0))};
    }
    free(behind);
    return loss;
}
