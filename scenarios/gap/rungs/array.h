/* The array that every rung reads, and the checksum that proves that a rung delivered it.
 *
 * Floor 4. Control thread; the checksum from any thread. Row r depends only on (seed, r), so every
 * process makes the same array with any number of threads. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_ARRAY_H
#define DLB_SCENARIOS_GAP_RUNGS_ARRAY_H

#include "core/base/err.h"
#include "core/base/rng.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/params.h"

#include <stdatomic.h>
#include <stdint.h>

/* Maps the array and fills it with a thread for each CPU; the threads have ended when it returns.
 * DLB_E_CANCELLED once `cancel` is set. The array is read-only from then on: workers are forked
 * with it. */
int dlb_gap_array_open(struct dlb_gap_memory *array, const struct dlb_gap_params *params,
                       const atomic_bool *cancel, struct dlb_err *err);

/* Writes the array of these parameters to a descriptor, row by row: how the PyTorch rungs get the
 * same bytes. Does not close it. */
int dlb_gap_array_write(const struct dlb_gap_params *params, int fd, const atomic_bool *cancel,
                        struct dlb_err *err);

/* A sum that does not depend on the order of rows or on batch borders, and that numpy can compute,
 * too. With words as little-endian 32-bit numbers, all arithmetic modulo 2^64:
 *   mix(x): splitmix64's finaliser (core/base/rng.h)
 *   weight[j] = mix(j + 1) | 1
 *   row = mix(0x9e3779b97f4a7c15 + sum over j of word[j] * weight[j])
 *   checksum = sum over rows of row
 * Returns the sum of these rows. */
uint64_t dlb_gap_checksum(const void *rows, uint64_t n_rows, uint64_t n_features);

#endif
