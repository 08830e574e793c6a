/* A storage plan's results, as the search sees them: cell i is point i. Repetitions in turns with
 * another program (block >= n_blocks) are ignored. Over ranks a repetition's value is that of the
 * rank that worst.h chooses.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_STORAGE_VIEW_H
#define DLB_SCENARIOS_STORAGE_VIEW_H

#include "scenarios/scenario.h"
#include "scenarios/storage/search.h"

struct dlb_storage_view {
    struct dlb_search search;
    struct dlb_search_point *points; /* [plan->n_cells]; owned */
    double *values, *rank_au;        /* what they point to; owned */
    /* A cell failed for another reason than memory: larger numbers would fail, too. */
    bool stopped;
};

void dlb_storage_view_open(struct dlb_storage_view *view, const struct dlb_plan *plan,
                           const struct dlb_results *results);
void dlb_storage_view_close(struct dlb_storage_view *view);

/* The cell with n accelerators, or -1. */
int64_t dlb_storage_cell_of(const struct dlb_plan *plan, uint32_t n);

/* How many accelerators a cell has. */
uint32_t dlb_storage_count_of(const struct dlb_plan *plan, uint32_t cell);

/* Steps of an epoch that each of n accelerators has at least, on each of run.world ranks. */
double dlb_storage_steps_per_epoch(const struct dlb_plan *plan, uint32_t n);

/* The most accelerators of each rank for which the data set is large enough: each reads its own
 * share at most once. With storage.allow_small, or whole epochs, it may read samples again and only
 * needs a batch per epoch. Where several loaders divide the shards, each also needs enough of
 * them. UINT32_MAX if the size is not known. *of: "samples" or "shards", whichever limits; may be
 * NULL. */
uint32_t dlb_storage_data_limit(const struct dlb_plan *plan, const char **of);

#endif
