/* The parts of a result, over ranks.
 *
 * Floor 4, private to scenarios/ranks. Control thread; pure. */
#ifndef DLB_SCENARIOS_RANKS_MERGE_PARTS_H
#define DLB_SCENARIOS_RANKS_MERGE_PARTS_H

#include "scenarios/ranks/merge.h"

/* *out has no share and no epoch, which it gets. Each rank has a loop. */
void dlb_merge_loops(const struct dlb_rank_part *parts, uint32_t n, struct dlb_loop_result *out);

/* *out is rank 0's. Each rank has workers. */
void dlb_merge_workers(const struct dlb_rank_part *parts, uint32_t n,
                       struct dlb_workers_result *out);

/* Of loops, devices and workers, from the histograms; not where a rank has none. */
void dlb_merge_stages(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cell_result *out);

/* *out is rank 0's. */
void dlb_merge_memory(const struct dlb_rank_part *parts, uint32_t n, struct dlb_memory_result *out);
void dlb_merge_cache(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cache_result *out);

#endif
