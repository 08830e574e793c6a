#include "core/measure/race_fresh.h"

#include "core/measure/tail.h"

#include <math.h>
#include <stddef.h>

struct dlb_race_interval dlb_race_fresh_loss(const struct dlb_race *race, double misses)
{
    double n = 0, sum = 0, squares = 0;
    for (uint32_t b = race->fresh_from; b < race->n_blocks; b++) {
        const double *row = race->ln_rate + (size_t)b * race->input.n_cells;
        double behind = row[race->rival] - row[race->recommended];
        if (!isfinite(behind))
            continue;
        n++;
        double change = behind - sum; /* sum is the mean so far: Welford */
        sum += change / n;
        squares += change * (behind - sum);
    }
    if (n < DLB_RACE_FRESH_MIN - 1)
        return (struct dlb_race_interval){NAN, NAN, NAN};
    double half = dlb_t_beyond(misses, n - 1) * sqrt(squares / (n - 1) / n);
    return (struct dlb_race_interval){-expm1(-fmax(sum, 0)), -expm1(-fmax(sum - half, 0)),
                                      -expm1(-fmax(sum + half, 0))};
}
