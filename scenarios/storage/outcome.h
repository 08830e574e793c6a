/* The outcome of a search for the number of accelerators.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_STORAGE_OUTCOME_H
#define DLB_SCENARIOS_STORAGE_OUTCOME_H

#include "scenarios/judge/judge.h"
#include "scenarios/storage/bottleneck.h"
#include "scenarios/storage/view.h"

struct dlb_storage_outcome {
    const struct dlb_plan *plan;
    const struct dlb_results *results;
    const struct dlb_judgement *judgement;
    struct dlb_storage_view view;
    struct dlb_search_step step;
    bool settled;         /* the search settled */
    uint32_t n;           /* the largest so far that keeps the gate; 0: none */
    int64_t best, beyond; /* cells, or -1 */
    enum dlb_bottleneck bottleneck;
    char why[256];
    bool cold_proof;          /* the data set is large against the memory */
    uint64_t steps_per_epoch; /* of the least fed of n accelerators */
};

/* How many divide the data set: those of all ranks. */
static inline uint64_t dlb_storage_n_of_all(const struct dlb_storage_outcome *o)
{
    return (o->n > 0 ? o->n : 1) * (uint64_t)o->plan->cells[0].spec->run.world;
}

/* Those that measured: each had as many accelerators. */
static inline uint32_t dlb_storage_n_ranks(const struct dlb_storage_outcome *o)
{
    for (uint32_t i = 0; i < o->plan->n_cells; i++)
        if (o->judgement->cells[i].shown)
            return dlb_cell_result_n_ranks(o->judgement->cells[i].shown);
    return 1;
}

/* NULL for cell -1. */
static inline const struct dlb_judged_cell *dlb_storage_judged(const struct dlb_storage_outcome *o,
                                                               int64_t cell)
{
    return cell >= 0 ? &o->judgement->cells[cell] : NULL;
}

#endif
