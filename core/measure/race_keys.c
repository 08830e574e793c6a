#include "core/measure/race_keys.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>

static bool differ_alone(const struct dlb_race *race, uint32_t key, int64_t a, uint32_t b)
{
    uint32_t n_keys = race->input.n_keys;
    for (uint32_t k = 0; k < n_keys; k++) {
        bool equal = race->input.levels[(size_t)a * n_keys + k] ==
                     race->input.levels[(size_t)b * n_keys + k];
        if (equal == (k == key))
            return false;
    }
    return true;
}

static void judge_key(struct dlb_race *race, const double *draws, uint32_t n_draws, const bool *in,
                      uint32_t k)
{
    uint32_t n_cells = race->input.n_cells, n_same = 0;
    double edge = -log1p(-race->input.tolerance);
    struct dlb_race_key *key = &race->keys[k];
    bool *other = dlb_mem_array(n_cells, sizeof(*other));
    for (uint32_t c = 0; c < n_cells; c++) {
        other[c] = in[c] && differ_alone(race, k, race->base, c);
        key->n_others += other[c];
    }
    for (uint32_t d = 0; d < n_draws; d++) {
        const double *draw = draws + (size_t)d * n_cells;
        bool same = true;
        for (uint32_t c = 0; c < n_cells; c++)
            same = same && (!other[c] || fabs(draw[c] - draw[race->base]) <= edge);
        n_same += same;
    }
    key->same = key->n_others > 0 ? (double)n_same / n_draws : (double)NAN;
    free(other);
}

void dlb_race_judge_keys(struct dlb_race *race, const double *draws, uint32_t n_draws,
                         const bool *in)
{
    race->base = race->recommended;
    for (uint32_t c = 0; race->recommended < 0 && c < race->input.n_cells; c++)
        if (in[c] && (race->base < 0 ||
                      race->cells[c].loss_frac.median < race->cells[race->base].loss_frac.median))
            race->base = c;
    for (uint32_t k = 0; race->base >= 0 && k < race->input.n_keys; k++)
        judge_key(race, draws, n_draws, in, k);
}
