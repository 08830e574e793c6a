/* The training loop's own CPU time: what launching a step's kernels takes a program.
 *
 * Floor 3, private to the consumer. The consumer's thread. */
#ifndef DLB_LOADERS_TRAIN_HOST_PART_H
#define DLB_LOADERS_TRAIN_HOST_PART_H

#include "loaders/train/consumer.h"

#include <stdbool.h>

/* Computes until the thread has had *left_ns of CPU time; for 1 ms at most, if a slot is still held
 * by a copy. Takes from *left_ns what was used: below 0 it was too much, which the next step gets
 * less. Returns whether anything is left. */
bool dlb_host_slice(const struct dlb_consume *how, bool held, double *left_ns);

#endif
