#include "scenarios/judge/gain.h"

#include "core/base/mem.h"
#include "core/measure/gain.h"
#include "scenarios/plan/twin.h"

#include <math.h>
#include <stdlib.h>

static uint32_t count_blocks(const struct dlb_judged_cell *cells, uint32_t n_cells)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < n_cells; c++)
        for (uint32_t k = 0; k < cells[c].n_values; k++)
            n = cells[c].block[k] < n ? n : cells[c].block[k] + 1;
    return n;
}

/* Steps per second of one accelerator, by the rate that cells are ranked by. */
static double ranked_steps_per_s(const struct dlb_judged_cell *cell, uint32_t k)
{
    return cell->steps_per_s[k] * cell->values[k] / cell->rates[DLB_RATE_WINDOW].values[k];
}

/* *ln_gain: of the cell, in block 0; `stride` apart are the others. */
static void fill_ln(const struct dlb_judged_cell *cell, double *ln_gain, size_t stride)
{
    const struct dlb_reps *ceilings = cell->ceilings;
    for (uint32_t i = 0; i < ceilings->n; i++) {
        double ceiling = dlb_cell_result_steps_per_s(&ceilings->rep[i]);
        for (uint32_t k = 0; k < cell->n_values; k++)
            if (cell->block[k] == ceilings->rep[i].block)
                ln_gain[cell->block[k] * stride] = log(ceiling / ranked_steps_per_s(cell, k));
    }
}

void dlb_gains_fill(struct dlb_judged_cell *cells, uint32_t n_cells)
{
    uint32_t n_blocks = count_blocks(cells, n_cells);
    size_t n = (size_t)n_blocks * n_cells;
    double *ln_gain = dlb_mem_array(n, sizeof(*ln_gain));
    struct dlb_gain *gains = dlb_mem_array(n_cells, sizeof(*gains));
    for (size_t i = 0; i < n; i++)
        ln_gain[i] = (double)NAN;
    for (uint32_t c = 0; c < n_cells; c++)
        if (cells[c].ceilings)
            fill_ln(&cells[c], ln_gain + c, n_cells);
    dlb_gains(ln_gain, n_blocks, n_cells, DLB_GAIN_CLEAR, gains);
    for (uint32_t c = 0; c < n_cells; c++) {
        const struct dlb_reps *ceilings = cells[c].ceilings;
        double idle_frac = ceilings ? dlb_twin_share(ceilings) : 0;
        cells[c].evidence.gain = gains[c];
        cells[c].evidence.ceiling_idle_frac = isfinite(idle_frac) ? idle_frac : 0;
    }
    free(ln_gain);
    free(gains);
}
