/* What a race holds: cells and the rates of their runs. */
#include "core/base/mem.h"
#include "core/measure/race.h"

#include <math.h>
#include <stdlib.h>

void dlb_race_init(struct dlb_race *race, const struct dlb_race_input *input)
{
    const double nan = (double)NAN;
    *race = (struct dlb_race){.input = *input,
                              .first_look = DLB_RACE_FIRST_LOOK,
                              .leader = -1,
                              .recommended = -1,
                              .rival = -1,
                              .base = -1,
                              .probability = nan,
                              .loss_frac = {nan, nan, nan},
                              .blocks_more = nan,
                              .noise_floor_frac = nan,
                              .scatter = nan};
    race->cells = dlb_mem_array(input->n_cells, sizeof(*race->cells));
    race->keys = dlb_mem_array(input->n_keys, sizeof(*race->keys));
    for (uint32_t c = 0; c < input->n_cells; c++) {
        race->cells[c].probability = race->cells[c].threat = race->cells[c].doubt = nan;
        race->cells[c].loss_frac = race->loss_frac;
    }
}

void dlb_race_free(struct dlb_race *race)
{
    free(race->cells);
    free(race->keys);
    free(race->ln_rate);
    race->cells = NULL;
    race->keys = NULL;
    race->ln_rate = NULL;
}

void dlb_race_record(struct dlb_race *race, uint32_t block, uint32_t cell, double samples_per_s)
{
    uint32_t n_cells = race->input.n_cells;
    if (block >= race->n_blocks) {
        race->ln_rate =
            dlb_mem_grow(race->ln_rate, (size_t)(block + 1) * n_cells, sizeof(*race->ln_rate));
        for (size_t i = (size_t)race->n_blocks * n_cells; i < (size_t)(block + 1) * n_cells; i++)
            race->ln_rate[i] = NAN;
        race->n_blocks = block + 1;
    }
    race->ln_rate[(size_t)block * n_cells + cell] =
        samples_per_s > 0 && isfinite(samples_per_s) ? log(samples_per_s) : (double)NAN;
}

void dlb_race_fail(struct dlb_race *race, uint32_t cell)
{
    race->cells[cell].state = DLB_RACE_FAILED;
    race->cells[cell].runs = false;
}

uint32_t dlb_race_block_runs(const struct dlb_race *race)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        n += race->cells[c].runs;
    return n;
}
