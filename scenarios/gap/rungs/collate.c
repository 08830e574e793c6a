#include "scenarios/gap/rungs/collate.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_A_CHECK = 65536, MALLOC_BYTES = 16 };

uint64_t dlb_gap_collate_bytes(uint64_t batch_size, uint64_t row_bytes)
{
    return batch_size * (row_bytes + MALLOC_BYTES + sizeof(uint8_t *));
}

int dlb_gap_collate_open(struct dlb_gap_collate *collate, const void *array, uint64_t batch_size,
                         uint64_t row_bytes, struct dlb_err *err)
{
    *collate = (struct dlb_gap_collate){.batch_size = batch_size,
                                        .row_bytes = row_bytes,
                                        .array = array,
                                        .sample = malloc(batch_size * sizeof(uint8_t *))};
    if (!collate->sample)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "allocating the list of a batch's samples");
    memset(collate->sample, 0, batch_size * sizeof(uint8_t *));
    return DLB_OK;
}

void dlb_gap_collate_close(struct dlb_gap_collate *collate)
{
    for (uint64_t i = 0; i < collate->n_held; i++)
        free(collate->sample[i]);
    free(collate->sample);
    *collate = (struct dlb_gap_collate){.sample = NULL};
}

static int cancelled(const struct dlb_gap_collate *collate, uint64_t i, struct dlb_err *err)
{
    if (i % SAMPLES_A_CHECK != 0 || !collate->cancel || !atomic_load(collate->cancel))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
}

int dlb_gap_collate_fetch(struct dlb_gap_collate *collate, struct dlb_gap_account *account,
                          const uint32_t *index, uint64_t n_rows, struct dlb_err *err)
{
    size_t row_bytes = collate->row_bytes;
    int rc = DLB_OK;

    dlb_gap_begin(account);
    for (uint64_t i = 0; rc == DLB_OK && i < n_rows; i++) {
        uint8_t *sample = malloc(row_bytes);
        if (!sample) {
            rc = dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "allocating a sample");
            break;
        }
        memcpy(sample, collate->array + index[i] * row_bytes, row_bytes);
        collate->sample[i] = sample;
        collate->n_held = i + 1;
        rc = cancelled(collate, i, err);
    }
    dlb_gap_end(account, DLB_GAP_PART_index);
    return rc;
}

int dlb_gap_collate_stack(struct dlb_gap_collate *collate, struct dlb_gap_account *account,
                          uint8_t *dest, struct dlb_err *err)
{
    size_t row_bytes = collate->row_bytes;
    int rc = DLB_OK;

    dlb_gap_begin(account);
    for (uint64_t i = 0; rc == DLB_OK && i < collate->n_held; i++) {
        memcpy(dest + i * row_bytes, collate->sample[i], row_bytes);
        rc = cancelled(collate, i, err);
    }
    dlb_gap_end(account, DLB_GAP_PART_stack);
    return rc;
}

void dlb_gap_collate_drop(struct dlb_gap_collate *collate, struct dlb_gap_account *account)
{
    dlb_gap_begin(account);
    for (uint64_t i = 0; i < collate->n_held; i++)
        free(collate->sample[i]);
    collate->n_held = 0;
    dlb_gap_end(account, DLB_GAP_PART_free);
}
