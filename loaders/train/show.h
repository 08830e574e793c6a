/* What a view of the running process shows of a step (core/base/live.h).
 *
 * Floor 3, private to the consumer. Its thread. */
#ifndef DLB_LOADERS_TRAIN_SHOW_H
#define DLB_LOADERS_TRAIN_SHOW_H

#include "loaders/train/consumer.h"
#include "loaders/train/window.h"

#include <stdint.h>

/* The step of buffer `buf` was handed to the feed's device at now_ns. How long it will take is
 * known of a virtual timeline; of another device it is taken to be what was asked for. */
void dlb_train_show(const struct dlb_consume *how, const struct dlb_feed *feed, uint32_t buf,
                    const struct dlb_step *step, uint64_t now_ns);

#endif
