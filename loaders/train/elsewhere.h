/* The training loop over batches of another process (dlb_loader.elsewhere).
 *
 * Floor 3, private to the consumer. Its thread. */
#ifndef DLB_LOADERS_TRAIN_ELSEWHERE_H
#define DLB_LOADERS_TRAIN_ELSEWHERE_H

#include "loaders/train/accelerator.h"

/* Tells the loader when the batch after the next one will be asked for (dlb_loader.foresee). Before
 * each call of next(). */
void dlb_elsewhere_foresee(const struct dlb_accelerator *a);

/* When the batch was copied there. */
void dlb_elsewhere_copied(const struct dlb_batch *batch, struct dlb_dev_times *times);

/* A batch was taken; the wait for it has ended by a->step.wait_end_ns. */
void dlb_elsewhere_taken(struct dlb_accelerator *a);

#endif
