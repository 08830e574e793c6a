/* The GPU of a rank: of those that its machine shows, one for each rank; and the CPUs near it.
 *
 * Floor 4. Control thread of the runner, before it starts anything. */
#ifndef DLB_SCENARIOS_RANKS_GPU_H
#define DLB_SCENARIOS_RANKS_GPU_H

#include "core/host/near.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: the rank runs wherever its launcher lets it. */
struct dlb_rank_place {
    char gpu[32]; /* its PCI address; "": it has no place */
    struct dlb_near near;
};

/* Sets CUDA_VISIBLE_DEVICES for the programs that this one starts, where the machine has several
 * GPUs and the launcher has not already chosen one. Where the machine's ranks are as many as its
 * GPUs, or the launcher has chosen, they will also run on the CPUs of the GPU's NUMA node, unless
 * the launcher has bound this process. n_local: ranks on this machine, which all run everywhere
 * where there is one, or the number is not known (0). `root`: as in core/host/near.h. */
void dlb_rank_gpu_choose(const char *root, uint32_t local_rank, uint32_t n_local,
                         struct dlb_rank_place *place);

/* What it sets: of `visible` (CUDA_VISIBLE_DEVICES; NULL: not set) or of n_gpus the one at
 * local_rank; more ranks than GPUs share them in turns. False: it stays as it is. */
bool dlb_rank_gpu_of(const char *visible, uint32_t n_gpus, uint32_t local_rank, char *out,
                     size_t n_out);

#endif
