/* Whether the device got what the worker delivered, and made of it what was asked for.
 *
 * Floor 3, private to the consumer. The consumer's thread. */
#ifndef DLB_LOADERS_TRAIN_VERIFY_H
#define DLB_LOADERS_TRAIN_VERIFY_H

#include "loaders/train/consumer.h"

#include <stdint.h>

/* After the step on buffer `buf`, which had this batch. Counts a mismatch; errors are the device's.
 */
int dlb_verify_batch(const struct dlb_consume *how, void *device_state, uint32_t buf,
                     const struct dlb_batch *batch, uint64_t *n_mismatches, struct dlb_err *err);

#endif
