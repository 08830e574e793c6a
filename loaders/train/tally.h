/* Counts and hashes what an epoch delivered, to show that each sample came exactly once.
 *
 * Floor 3. The consumer's thread. */
#ifndef DLB_LOADERS_TRAIN_TALLY_H
#define DLB_LOADERS_TRAIN_TALLY_H

#include "core/base/err.h"
#include "loaders/loader.h"
#include "loaders/train/consumer.h"

#include <stdint.h>

struct dlb_tally {
    uint64_t *seen; /* a bit per sample of the data set; owned */
    uint64_t n_samples;
};

int dlb_tally_open(struct dlb_tally *tally, uint64_t n_samples, struct dlb_err *err);
void dlb_tally_close(struct dlb_tally *tally);

/* Before an epoch: no sample has been seen. */
void dlb_tally_reset(struct dlb_tally *tally);

/* Adds a batch to the epoch's counts and its checksum of content, and to *order, the checksum of
 * one accelerator's order. DLB_E_FORMAT for an index beyond the data set. */
int dlb_tally_add(struct dlb_tally *tally, const struct dlb_batch *batch, struct dlb_epoch *epoch,
                  uint64_t *order, struct dlb_err *err);

#endif
