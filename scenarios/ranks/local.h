/* The ranks of each machine, counted by the machines' names: not every launcher numbers them.
 *
 * Floor 4. The speaker's thread. */
#ifndef DLB_SCENARIOS_RANKS_LOCAL_H
#define DLB_SCENARIOS_RANKS_LOCAL_H

#include "scenarios/ranks/ranks.h"

struct dlb_ranks_local {
    uint32_t rank, n; /* among the ranks of its machine; how many these are */
};

/* Collective, once the ranks are open. False: as in ranks.h. */
bool dlb_ranks_number(const struct dlb_ranks *ranks, struct dlb_ranks_local *mine);

/* Of n ranks, whose names lie one after the other in `names`, each of n_each bytes. */
void dlb_ranks_number_all(const char *names, const uint64_t *n_each, uint32_t n,
                          struct dlb_ranks_local *all);

#endif
