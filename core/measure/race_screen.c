#include "core/measure/race_screen.h"

#include "core/measure/race_look.h"

#include <math.h>
#include <stddef.h>

static double ln_rate_of(const struct dlb_race *race, uint32_t block, uint32_t cell)
{
    return race->ln_rate[(size_t)block * race->input.n_cells + cell];
}

static uint32_t level_of(const struct dlb_race *race, uint32_t cell, uint32_t key)
{
    return race->input.levels[(size_t)cell * race->input.n_keys + key];
}

/* A ln rate of the block below this is far behind. */
static double limit_of(const struct dlb_race *race, uint32_t block)
{
    double best = -INFINITY, second = -INFINITY;
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        double rate = ln_rate_of(race, block, c);
        if (!isfinite(rate))
            continue;
        second = fmax(second, fmin(best, rate));
        best = fmax(best, rate);
    }
    return second + log(DLB_RACE_FAR);
}

/* Cells that failed count with the rates that they had. */
static bool is_far_behind(const struct dlb_race *race, uint32_t key, uint32_t level)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < race->n_blocks; b++) {
        double limit = limit_of(race, b);
        for (uint32_t c = 0; c < race->input.n_cells; c++) {
            double rate = ln_rate_of(race, b, c);
            bool ran = isfinite(rate), due = b == 0 && race->cells[c].state != DLB_RACE_FAILED;
            if (level_of(race, c, key) != level || (!ran && !due))
                continue;
            if (!ran || rate >= limit)
                return false;
            n += b == 0;
        }
    }
    return n > 1;
}

/* Whether a cell with this value of the key has run behind the first block. */
static bool ran_again(const struct dlb_race *race, uint32_t key, uint32_t level)
{
    for (uint32_t b = 1; b < race->n_blocks; b++)
        for (uint32_t c = 0; c < race->input.n_cells; c++)
            if (level_of(race, c, key) == level && isfinite(ln_rate_of(race, b, c)))
                return true;
    return false;
}

static bool rests(const struct dlb_race *race, uint32_t cell)
{
    for (uint32_t k = 0; k < race->input.n_keys; k++)
        if (is_far_behind(race, k, level_of(race, cell, k)))
            return true;
    return false;
}

/* Of the screened cells that have this value of the key, or of all (key < 0), the fastest of the
 * first block. -1: there is none that does not run already. */
static int64_t fastest_screened(const struct dlb_race *race, int64_t key, uint32_t level)
{
    int64_t found = -1;
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        if (race->cells[c].state != DLB_RACE_SCREENED ||
            (key >= 0 && level_of(race, c, (uint32_t)key) != level) ||
            (key < 0 && race->cells[c].runs))
            continue;
        if (found < 0 || ln_rate_of(race, 0, c) > ln_rate_of(race, 0, (uint32_t)found))
            found = c;
    }
    return found;
}

/* One cell of each value that only the first block has seen runs. Returns whether there are any. */
static bool confirm_values(struct dlb_race *race)
{
    bool any = false;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        for (uint32_t k = 0; k < race->input.n_keys; k++) {
            uint32_t level = level_of(race, c, k);
            if (race->cells[c].state != DLB_RACE_SCREENED || !is_far_behind(race, k, level) ||
                ran_again(race, k, level) || fastest_screened(race, k, level) != c)
                continue;
            race->cells[c].runs = any = true;
        }
    return any;
}

void dlb_race_screen(struct dlb_race *race)
{
    bool later = false;
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        struct dlb_race_cell *cell = &race->cells[c];
        enum dlb_race_state was = cell->state;
        if (was != DLB_RACE_FAILED)
            cell->state = rests(race, c) ? DLB_RACE_SCREENED : DLB_RACE_RACING;
        if (was == DLB_RACE_SCREENED && cell->state == DLB_RACE_RACING)
            later = true;
        cell->runs = cell->state == DLB_RACE_RACING;
    }
    if (confirm_values(race) && race->n_blocks > 1)
        later = true;
    if (later)
        race->first_look = DLB_RACE_FIRST_LOOK + 1;
    int64_t c;
    for (uint32_t n = dlb_race_block_runs(race);
         n < DLB_RACE_ALONGSIDE && (c = fastest_screened(race, -1, 0)) >= 0; n++)
        race->cells[c].runs = true;
}
