#include "scenarios/storage/worst.h"

#include "core/base/mem.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const double *row_of(const struct dlb_worst *w, uint32_t rep)
{
    return w->au + (size_t)rep * w->n_ranks;
}

static double lowest(const struct dlb_worst *w, uint32_t rep)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < w->n_ranks; i++)
        least = fmin(least, row_of(w, rep)[i]);
    return least;
}

/* -1: no repetition of that half missed the gate. `middle`: [n_reps] of the ranks' utilisations,
 * NaN where none missed it; `shares`: [n_reps] for its own use. */
static int64_t worst_of(const struct dlb_worst *w, uint8_t half, const double *middle,
                        double *shares)
{
    int64_t worst = -1;
    double least = INFINITY;
    for (uint32_t rank = 0; rank < w->n_ranks; rank++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < w->n_reps; i++)
            if (w->half[i] == half && !isnan(middle[i]))
                shares[n++] = row_of(w, i)[rank] / fmax(middle[i], 1e-9);
        double share = dlb_median(shares, n);
        if (share < least) {
            least = share;
            worst = rank;
        }
    }
    return worst;
}

void dlb_worst_values(const struct dlb_worst *w, double *values)
{
    double *middle = dlb_mem_array(w->n_reps, sizeof(*middle));
    double *shares = dlb_mem_array(w->n_reps, sizeof(*shares));
    for (uint32_t i = 0; i < w->n_reps; i++)
        middle[i] = lowest(w, i) < w->gate ? dlb_median(row_of(w, i), w->n_ranks) : (double)NAN;
    const int64_t worst[2] = {worst_of(w, 0, middle, shares), worst_of(w, 1, middle, shares)};
    for (uint32_t i = 0; i < w->n_reps; i++) {
        int64_t rank = worst[!w->half[i]];
        values[i] = rank >= 0 ? row_of(w, i)[rank] : lowest(w, i);
    }
    free(middle);
    free(shares);
}
