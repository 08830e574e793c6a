#include "loaders/train/tally.h"

#include "core/base/rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN                                                                                      \
    UINT64_C(0xd6e8feb86659fd93) /* odd: a polynomial hash over the order, one multiplication a    \
                                    sample */

int dlb_tally_open(struct dlb_tally *tally, uint64_t n_samples, struct dlb_err *err)
{
    size_t n_words = (size_t)(n_samples / 64 + 1);

    *tally =
        (struct dlb_tally){.n_samples = n_samples, .seen = calloc(n_words, sizeof *tally->seen)};
    return tally->seen ? DLB_OK : dlb_fail_memory(err, NULL, n_words * sizeof *tally->seen);
}

void dlb_tally_close(struct dlb_tally *tally)
{
    free(tally->seen);
    tally->seen = NULL;
}

void dlb_tally_reset(struct dlb_tally *tally)
{
    memset(tally->seen, 0, (size_t)(tally->n_samples / 64 + 1) * sizeof *tally->seen);
}

int dlb_tally_add(struct dlb_tally *tally, const struct dlb_batch *batch, struct dlb_epoch *epoch,
                  uint64_t *order, struct dlb_err *err)
{
    uint64_t set = 0, seq = *order, unique = batch->index ? 0 : batch->n_samples;

    for (uint32_t i = 0; batch->index && i < batch->n_samples; i++) {
        uint64_t index = batch->index[i];
        if (index >= tally->n_samples)
            return dlb_fail(err, DLB_ERR_READ_NO_SUCH_SAMPLE, NULL, DLB_NO_OFFSET,
                            "sample number %" PRIu64 " of %" PRIu64
                            ": the data set changed while it was read",
                            index, tally->n_samples);
        uint64_t bit = UINT64_C(1) << (index % 64);
        uint64_t *word = &tally->seen[index / 64];
        unique += (*word & bit) == 0;
        *word |= bit;
        uint64_t one = dlb_mix64(index + DLB_GOLDEN);
        if (batch->hash)
            one = dlb_mix64(one ^ batch->hash[i]);
        set += one;
        seq = seq * CHAIN + one;
    }
    epoch->set_checksum += set;
    *order = seq;
    epoch->n_unique += unique;
    epoch->n_samples += batch->n_samples;
    epoch->n_bytes += batch->n_bytes;
    return DLB_OK;
}

uint64_t dlb_tally_chain(uint64_t epoch_order, uint64_t order)
{
    return epoch_order * CHAIN + order;
}
