/* Rows of an array, in any order, to one place.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_GATHER_H
#define DLB_SCENARIOS_GAP_RUNGS_GATHER_H

#include <stdint.h>

/* A row is asked for this many rows before its turn: more than a memory access takes (some 100 ns)
 * at the rate of one core, and few enough for the second-level cache. */
#define DLB_GAP_AHEAD 16
/* And its page, whose address may be in no TLB, this many. */
#define DLB_GAP_AHEAD_PAGE 64

/* dest[i] = array[index[i]], row by row, as X[idx] does it. */
void dlb_gap_gather(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                    uint64_t row_bytes);

/* The same with software prefetch, and, where the processor has it (x86-64 with AVX-512), a line at
 * a time past the caches, without reading the destination first: a batch is larger than the caches,
 * and who reads it next is a device. */
void dlb_gap_gather_ahead(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                          uint64_t row_bytes);

/* What it is on other processors: a row at a time; past the caches, too, where rows are made of 16
 * bytes and x86-64 stores them. */
void dlb_gap_gather_by_rows(void *dest, const void *array, const uint32_t *index, uint64_t n_rows,
                            uint64_t row_bytes);

#endif
