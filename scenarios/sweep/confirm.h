/* The cells in which PyTorch's own DataLoader is raced after this program's loaders.
 *
 * Floor 4. Control thread; pure. Others than the sweep foretell the cells and nothing else. */
#ifndef DLB_SCENARIOS_SWEEP_CONFIRM_H
#define DLB_SCENARIOS_SWEEP_CONFIRM_H

#include "scenarios/scenario.h"

#define DLB_CONFIRM_CELLS 8   /* that are added at most */
#define DLB_CONFIRM_WORKERS 6 /* of these, at most, differ in num_workers */
#define DLB_CONFIRM_SHARE 0.4 /* of sweep.max_minutes that the cells before them take at most */

#define DLB_CONFIRM_WORKERS_MAX 512 /* that loader.num_workers takes */

/* Which numbers of workers, rising: `answer`, fewer, twice as many, one for each CPU, more up to
 * these, and of the numbers that the user listed (loader.num_workers of [sweep]; NULL: none) those
 * above it, as far as there is room: the largest and the middle one first. Returns how many. */
uint32_t dlb_confirm_workers(int64_t answer, int64_t n_cpus, const json_t *listed,
                             int64_t out[DLB_CONFIRM_WORKERS]);

/* Adds PyTorch's cells around the cell `answer`, with their ceilings: its settings with these
 * numbers of workers, then its settings with another value of each other swept key that PyTorch
 * has. Those that cannot run are skipped. Returns how many can. */
uint32_t dlb_confirm_add(struct dlb_plan *plan, uint32_t answer, uint32_t n_cpus);

/* How many cells there will be at most, whichever cell of the grid is the answer. Adds the keys
 * that they differ in to an array. */
uint32_t dlb_confirm_foretell(const struct dlb_plan *plan, uint32_t n_cpus, json_t *keys);

#endif
