/* Mappings with a chosen kind of pages, and what a page fault costs on this machine.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_MEMORY_H
#define DLB_SCENARIOS_GAP_RUNGS_MEMORY_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/params.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_gap_memory {
    uint8_t *addr; /* page aligned (huge pages: 2 MiB); owned; NULL: no mapping */
    size_t n_bytes;
};

enum dlb_gap_sharing {
    DLB_GAP_PRIVATE, /* anonymous */
    DLB_GAP_SHARED,  /* visible to processes that are forked later */
};

/* Maps it without touching a page: the first write to a page faults. */
int dlb_gap_map(struct dlb_gap_memory *memory, size_t n_bytes, enum dlb_gap_sharing sharing,
                enum dlb_gap_pages pages, struct dlb_err *err);

/* Touches all of it. `cancel` may be NULL; DLB_E_CANCELLED once it is set. */
int dlb_gap_populate(const struct dlb_gap_memory *memory, const atomic_bool *cancel,
                     struct dlb_err *err);

void dlb_gap_unmap(struct dlb_gap_memory *memory);

/* Shares a batch between processes as PyTorch does: shared memory without a name, whose descriptor
 * is sent and which the receiver maps again. The caller owns the descriptor. */
int dlb_gap_share_new(size_t n_bytes, int *fd, struct dlb_err *err);
int dlb_gap_share_map(struct dlb_gap_memory *memory, int fd, size_t n_bytes,
                      enum dlb_gap_pages pages, struct dlb_err *err);

/* Share of the mapping that lies on huge pages, from /proc/self/smaps; NaN: not known. */
double dlb_gap_huge_frac(const struct dlb_gap_memory *memory);

/* What a fresh page costs over its life: mapping, first touch (which zeroes it) and unmapping, less
 * writing the same bytes to pages that are already mapped; divided by the faults that the kernel
 * counted meanwhile. It is CPU time, so other programs do not disturb it. SHARED: written through
 * one mapping and read through another, as a worker's batch is. The median of a few turns of
 * batch_bytes, limited to between 1 and 64 MiB. */
struct dlb_gap_fault_cost {
    double ns;           /* per fault */
    uint64_t page_bytes; /* that most faults mapped */
};
int dlb_gap_fault_cost(struct dlb_gap_fault_cost *cost, enum dlb_gap_sharing sharing,
                       enum dlb_gap_pages pages, uint64_t batch_bytes, struct dlb_err *err);

#endif
