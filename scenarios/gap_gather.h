/* Rows of an array, in any order, to one place.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_GAP_GATHER_H
#define DLB_SCENARIOS_GAP_GATHER_H

#include <stdint.h>

/* A row is asked for this many rows before its turn: more than a memory access takes (some 100 ns)
 * at the rate of one core, and few enough for the first-level cache. */
#define DLB_GAP_AHEAD 16

/* dest[i] = array[index[i]], row by row, as X[idx] does it. */
void dlb_gap_gather(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                    uint64_t row_bytes);

/* The same with software prefetch, and, where rows are made of 16 bytes and x86-64 stores past the
 * caches, without reading the destination first: a batch is larger than the caches, and who reads
 * it next is a device. */
void dlb_gap_gather_ahead(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes);

#endif
