/* The array that every rung reads, and the proof that a rung delivered it.
 *
 * Floor 4. Control thread; sums from any thread. Row r comes from (seed, r) alone, so that all
 * processes have the same array whoever filled it. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_ARRAY_H
#define DLB_SCENARIOS_GAP_RUNGS_ARRAY_H

#include "core/base/err.h"
#include "core/base/rng.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/rung.h"

#include <stdatomic.h>
#include <stdint.h>

/* Fills it with as many threads as there are CPUs; all are gone when it returns. DLB_E_CANCELLED
 * when told to. Nobody writes to it later: workers are forked with it. */
int dlb_gap_array_open(struct dlb_gap_memory *array, const struct dlb_gap_params *params,
                       const atomic_bool *cancel, struct dlb_err *err);

/* A sum that does not depend on the order of rows, nor on how they are cut into batches, and that
 * numpy can make too. With words as little-endian 32-bit numbers, all arithmetic modulo 2^64:
 *   mix(x): splitmix64's finaliser (core/base/rng.h)
 *   weight[j] = mix(j + 1) | 1
 *   row = mix(0x9e3779b97f4a7c15 + sum over j of word[j] * weight[j])
 *   checksum = sum over rows of row
 * Returns the sum of these rows. */
uint64_t dlb_gap_checksum(const void *rows, uint64_t n_rows, uint64_t n_features);

#endif
