#include "scenarios/scenario.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(name) extern const struct dlb_scenario dlb_sc_##name;
#include "scenarios/scenarios.def"
#undef X

#define X(name) &dlb_sc_##name,
const struct dlb_scenario *const dlb_scenarios[] = {
#include "scenarios/scenarios.def"
    NULL};
#undef X

const struct dlb_scenario *dlb_scenario_by_name(const char *name)
{
    for (size_t i = 0; dlb_scenarios[i]; i++)
        if (strcmp(dlb_scenarios[i]->name, name) == 0)
            return dlb_scenarios[i];
    return NULL;
}

/* From *have to n lists; what is there stays. */
static void grow(struct dlb_reps **lists, uint32_t *have, uint32_t n)
{
    *lists = dlb_mem_grow(*lists, n, sizeof(**lists));
    for (; *have < n; (*have)++)
        (*lists)[*have] = (struct dlb_reps){0};
}

void dlb_results_grow(struct dlb_results *results, const struct dlb_plan *plan)
{
    grow(&results->cells, &results->n_cells, plan->n_cells);
    grow(&results->ceilings, &results->n_ceilings, plan->n_ceilings);
}

void dlb_results_init(struct dlb_results *results, const struct dlb_plan *plan)
{
    *results = (struct dlb_results){.stolen_frac = (double)NAN};
    dlb_results_grow(results, plan);
}

void dlb_results_free(struct dlb_results *results)
{
    for (uint32_t i = 0; i < results->n_cells; i++)
        dlb_reps_free(&results->cells[i]);
    for (uint32_t i = 0; i < results->n_ceilings; i++)
        dlb_reps_free(&results->ceilings[i]);
    free(results->cells);
    free(results->ceilings);
    dlb_reps_free(&results->reference);
    dlb_reps_free(&results->warm);
    dlb_reps_free(&results->baseline);
    dlb_reps_free(&results->in_c);
    memset(results, 0, sizeof(*results));
}

static uint32_t n_failed_of(const struct dlb_reps *reps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++)
        n += reps->rep[i].status == DLB_REP_FAILED;
    return n;
}

uint32_t dlb_results_n_failed(const struct dlb_results *results)
{
    uint32_t n = n_failed_of(&results->reference) + n_failed_of(&results->warm) +
                 n_failed_of(&results->baseline);
    for (uint32_t i = 0; i < results->n_cells; i++)
        n += n_failed_of(&results->cells[i]);
    for (uint32_t i = 0; i < results->n_ceilings; i++)
        n += n_failed_of(&results->ceilings[i]);
    return n;
}

uint32_t dlb_results_n_untold(const struct dlb_results *results, const struct dlb_judgement *j)
{
    uint32_t n = dlb_results_n_failed(results);
    for (uint32_t i = 0; i < results->n_cells; i++)
        if (j->cells[i].status == DLB_CELL_SKIPPED)
            n -= n_failed_of(&results->cells[i]);
    return n;
}
