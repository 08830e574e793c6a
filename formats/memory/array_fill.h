/* Random content for an array of float32 in memory.
 *
 * Floor 2. Control thread; it starts threads of its own, which have ended when it returns. */
#ifndef DLB_FORMATS_MEMORY_ARRAY_FILL_H
#define DLB_FORMATS_MEMORY_ARRAY_FILL_H

#include <stdatomic.h>
#include <stdint.h>

/* Uniform in [-1, 1), 24 bits each. Row i depends on (seed, i) alone, not on the thread that filled
 * it. `cancel` may be NULL; once it is set, the remaining rows are not filled. */
void dlb_array_fill(float *data, uint64_t n_rows, uint64_t n_columns, uint64_t seed,
                    const atomic_bool *cancel);

/* Rows first_row to first_row + n_rows - 1 of that array, by the calling thread, to `data`. */
void dlb_array_fill_rows(float *data, uint64_t first_row, uint64_t n_rows, uint64_t n_columns,
                         uint64_t seed);

#endif
