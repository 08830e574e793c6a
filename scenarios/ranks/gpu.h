/* The GPU of a rank: of those that its machine shows, one for each rank.
 *
 * Floor 4. Control thread of the runner, before it starts anything. */
#ifndef DLB_SCENARIOS_RANKS_GPU_H
#define DLB_SCENARIOS_RANKS_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets CUDA_VISIBLE_DEVICES for the programs that this one starts, where the machine has several
 * GPUs and the launcher has not already chosen one. */
void dlb_rank_gpu_choose(uint32_t local_rank);

/* What it sets: of `visible` (CUDA_VISIBLE_DEVICES; NULL: not set) or of n_gpus the one at
 * local_rank; more ranks than GPUs share them in turns. False: it stays as it is. */
bool dlb_rank_gpu_of(const char *visible, uint32_t n_gpus, uint32_t local_rank, char *out,
                     size_t n_out);

#endif
