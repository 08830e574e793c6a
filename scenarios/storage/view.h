/* A storage plan's results, as the search sees them: cell i is point i. Repetitions in turns with
 * another program (block >= n_blocks) are not looked at.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_STORAGE_VIEW_H
#define DLB_SCENARIOS_STORAGE_VIEW_H

#include "scenarios/scenario.h"
#include "scenarios/storage/search.h"

struct dlb_storage_view {
    struct dlb_search search;
    struct dlb_search_point *points; /* [plan->n_cells]; owned */
    double *values;                  /* what they point to; owned */
    /* A cell failed, and not for want of memory: more of them would fail, too. */
    bool stopped;
};

void dlb_storage_view_open(struct dlb_storage_view *view, const struct dlb_plan *plan,
                           const struct dlb_results *results);
void dlb_storage_view_close(struct dlb_storage_view *view);

/* The cell of that many accelerators, or -1. */
int64_t dlb_storage_cell_of(const struct dlb_plan *plan, uint32_t n);

/* How many accelerators a cell has. */
uint32_t dlb_storage_count_of(const struct dlb_plan *plan, uint32_t cell);

/* Steps of an epoch that the least fed of n accelerators is sure of. */
double dlb_storage_steps_per_epoch(const struct dlb_plan *plan, uint32_t n);

/* The most accelerators that the data set is large enough for: each reads its own share once and no
 * more, or has at least a batch of each epoch where it may read it again (storage.allow_small), or
 * all of it anyway. UINT32_MAX where its size is not known; but nobody is left without a shard.
 * *of: what there are too few of, a word; may be NULL. */
uint32_t dlb_storage_data_limit(const struct dlb_plan *plan, const char **of);

#endif
