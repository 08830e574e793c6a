#include "scenarios/gap/rungs/array.h"

#include "core/base/mem.h"
#include "formats/memory/array_fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITE_BYTES = 4 << 20, MAX_FEATURES_ON_STACK = 1024 };

static bool cancelled(const atomic_bool *cancel)
{
    return cancel && atomic_load(cancel);
}

int dlb_gap_array_open(struct dlb_gap_memory *array, const struct dlb_gap_params *params,
                       const atomic_bool *cancel, struct dlb_err *err)
{
    int rc = dlb_gap_map(array, dlb_gap_array_bytes(params), DLB_GAP_PRIVATE,
                         (enum dlb_gap_pages)params->pages, err);
    if (rc != DLB_OK)
        return rc;
    dlb_array_fill((float *)(void *)array->addr, (uint64_t)params->samples,
                   (uint64_t)params->features, (uint64_t)params->seed, cancel);
    if (!cancelled(cancel))
        return DLB_OK;
    dlb_gap_unmap(array);
    return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
}

uint64_t dlb_gap_checksum(const void *rows, uint64_t n_rows, uint64_t n_features)
{
    uint64_t weight[MAX_FEATURES_ON_STACK], sum = 0;
    const uint32_t *word = rows;

    for (uint64_t j = 0; j < n_features && j < MAX_FEATURES_ON_STACK; j++)
        weight[j] = dlb_mix64(j + 1) | 1;
    for (uint64_t i = 0; i < n_rows; i++, word += n_features) {
        uint64_t row = DLB_GOLDEN;
        for (uint64_t j = 0; j < n_features && j < MAX_FEATURES_ON_STACK; j++)
            row += word[j] * weight[j];
        for (uint64_t j = MAX_FEATURES_ON_STACK; j < n_features; j++)
            row += word[j] * (dlb_mix64(j + 1) | 1);
        sum += dlb_mix64(row);
    }
    return sum;
}

static int write_all(int fd, const uint8_t *at, size_t n_bytes, const atomic_bool *cancel,
                     struct dlb_err *err)
{
    while (n_bytes > 0) {
        ssize_t n = write(fd, at, n_bytes);
        if (cancelled(cancel))
            return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "writing the array");
        at += n;
        n_bytes -= (size_t)n;
    }
    return DLB_OK;
}

int dlb_gap_array_write(const struct dlb_gap_params *params, int fd, const atomic_bool *cancel,
                        struct dlb_err *err)
{
    uint64_t row_bytes = dlb_gap_row_bytes(params), n = (uint64_t)params->samples;
    uint64_t a_turn = row_bytes < WRITE_BYTES ? WRITE_BYTES / row_bytes : 1;
    float *rows = dlb_mem_array(a_turn, row_bytes);
    int rc = DLB_OK;

    for (uint64_t row = 0; rc == DLB_OK && row < n; row += a_turn) {
        uint64_t some = n - row < a_turn ? n - row : a_turn;
        dlb_array_fill_rows(rows, row, some, (uint64_t)params->features, (uint64_t)params->seed);
        rc = write_all(fd, (const uint8_t *)rows, some * row_bytes, cancel, err);
    }
    free(rows);
    return rc;
}
