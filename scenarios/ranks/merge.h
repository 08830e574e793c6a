/* One result of a cell from those that its ranks measured. Counts and histograms are added up
 * exactly. Times are of a mean accelerator, as those of one process's accelerators are
 * (loaders/train/consumer.h).
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_RANKS_MERGE_H
#define DLB_SCENARIOS_RANKS_MERGE_H

#include "core/measure/hist.h"
#include "scenarios/cell/cell_result.h"

#include <stdbool.h>
#include <stdint.h>

/* What one rank did. */
struct dlb_rank_part {
    struct dlb_cell_result result; /* owned by the caller */
    char node[256];
    double done_s;     /* from the common start until it had measured, or ended its loop where it
                          does not train on; NaN: it did not begin, or ended by an interrupt or a
                          fault */
    bool together;     /* it loaded until all ranks had measured */
    uint64_t n_rounds; /* at the barrier of all steps */
    double wait_ns, own_input_ns; /* over them: for other ranks, and of its own slowest step */
};

/* *out takes over what rank 0's result owns; the caller frees it, and the other results. If a rank
 * failed, so does *out, with the rank's name in its reason. `cost`: of rounds at the barrier. */
void dlb_ranks_merge(struct dlb_rank_part *parts, uint32_t n, const struct dlb_hist *cost,
                     struct dlb_cell_result *out);

/* What summary.json says of the ranks: {"ranks", "first_done_s", ...}. samples_per_s: of all. New
 * reference. */
json_t *dlb_ranks_describe(const struct dlb_rank_part *parts, uint32_t n,
                           const struct dlb_hist *cost, double samples_per_s);

/* Whether all ranks loaded until all had measured: their rates are of one load. */
bool dlb_ranks_together(const struct dlb_rank_part *parts, uint32_t n);

#endif
