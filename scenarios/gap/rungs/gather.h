/* Copies rows of an array, in any order, to one place.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_GATHER_H
#define DLB_SCENARIOS_GAP_RUNGS_GATHER_H

#include <stdint.h>

/* A row is prefetched this many rows before its turn. One core needs longer for them than a
 * memory access takes (some 100 ns), and they fit in the second-level cache. */
#define DLB_GAP_AHEAD 16
/* Its page is touched this many rows before, because its translation may be in no TLB. */
#define DLB_GAP_AHEAD_PAGE 64

/* dest[i] = array[index[i]], row by row, like X[idx]. */
void dlb_gap_gather(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                    uint64_t row_bytes);

/* The same with software prefetch. On x86-64 with AVX-512 it stores whole cache lines past the
 * caches, without reading the destination first: a batch is larger than the caches, and a device
 * reads it next. On other processors it stores a row at a time; on x86-64 past the caches, too,
 * when rows are multiples of 16 bytes. */
void dlb_gap_gather_ahead(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes);

#endif
