#include "scenarios/judge/judged.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>

bool dlb_is_measured(const struct dlb_judged_cell *cell)
{
    return cell->status == DLB_CELL_OK && cell->n_values > 0;
}

bool dlb_is_judged(const struct dlb_judged_cell *cell)
{
    const struct dlb_verdict *verdict = &cell->verdict;
    return dlb_is_measured(cell) && verdict->klass != DLB_V_HARNESS_BOUND &&
           (verdict->klass != DLB_V_INCOMPLETE || verdict->unexplained);
}

uint32_t dlb_judged_count(const struct dlb_judgement *j, enum dlb_cell_status status)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < j->n_cells; i++)
        n += j->cells[i].status == status;
    return n;
}

double dlb_judged_read_bytes_per_s(const struct dlb_judged_cell *cell)
{
    const struct dlb_cell_result *shown = cell->shown;
    return shown ? dlb_measured(shown->workers.io_bytes) / dlb_measured(shown->workers.n_samples) *
                       cell->rates[DLB_RATE_WINDOW].over.median
                 : (double)NAN;
}

struct dlb_estimate dlb_paired_loss(const struct dlb_judged_cell *cell,
                                    const struct dlb_judged_cell *best)
{
    struct dlb_estimate none = {NAN, NAN, NAN, DLB_INTERVAL_NONE, 0};
    double *a = dlb_mem_array(2 * (size_t)cell->n_values, sizeof(*a)), *b = a + cell->n_values;
    uint32_t n = 0;
    for (uint32_t i = 0; i < cell->n_values; i++)
        for (uint32_t j = 0; j < best->n_values; j++)
            if (cell->block[i] == best->block[j]) {
                a[n] = cell->values[i];
                b[n++] = best->values[j];
            }
    struct dlb_estimate loss = n ? dlb_estimate_paired_loss(a, b, n) : none;
    free(a);
    return loss;
}

double dlb_judged_loss(const struct dlb_judged_cell *cell, const struct dlb_judged_cell *best)
{
    return isnan(cell->modelled_loss_frac) ? 1 - cell->rate.median / best->rate.median
                                           : cell->modelled_loss_frac;
}
