#include "scenarios/plan/factors.h"

#include "core/base/mem.h"
#include "scenarios/plan/preflight.h"
#include "scenarios/spec/axes.h"
#include "scenarios/spec/meaning.h"

#include <math.h>
#include <stdlib.h>

/* The place of the cell's value on the axis; behind the last, where the option has no meaning. */
static uint32_t level_of(const struct dlb_axis *axis, const struct dlb_plan_cell *cell)
{
    uint32_t n = (uint32_t)json_array_size(axis->values), place = 0;
    if (!dlb_meaning_has(axis->group, axis->opt, cell->spec, cell->iterable))
        return n;
    json_t *value = dlb_axis_load(axis, cell->spec);
    while (place < n && !json_equal(value, json_array_get(axis->values, place)))
        place++;
    json_decref(value);
    return place;
}

struct size {
    double n_workers, bytes;
    uint32_t cell;
};

static int compare(const void *left, const void *right)
{
    const struct size *a = left, *b = right;
    if (a->n_workers != b->n_workers)
        return a->n_workers < b->n_workers ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

void dlb_factors_ranks(const struct dlb_plan *plan, uint32_t *rank)
{
    struct size *sizes = dlb_mem_array(plan->n_cells, sizeof(*sizes));
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_need need = {.n_workers = INFINITY, .slots_bytes = (double)NAN};
        if (!plan->cells[i].skipped)
            dlb_preflight_need(plan, i, &need);
        sizes[i] = (struct size){need.n_workers, need.slots_bytes, i};
        if (isnan(need.slots_bytes))
            sizes[i].bytes = 0;
    }
    qsort(sizes, plan->n_cells, sizeof(*sizes), compare);
    for (uint32_t i = 0; i < plan->n_cells; i++)
        rank[sizes[i].cell] = i;
    free(sizes);
}

void dlb_factors_levels(const struct dlb_plan *plan, uint32_t *levels)
{
    for (uint32_t i = 0; i < plan->n_grid; i++)
        for (uint32_t k = 0; k < plan->axes.n && !plan->cells[i].skipped; k++)
            levels[(size_t)i * plan->axes.n + k] = level_of(&plan->axes.axis[k], &plan->cells[i]);
}
