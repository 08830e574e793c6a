/* Records written by hand in tests, independently of what gen writes: the CRC bit by bit.
 * Header-only; include after support/folder.h. */
#ifndef DLB_TESTS_TFRECORD_H
#define DLB_TESTS_TFRECORD_H

#include "tests/support/folder.h"

static inline uint32_t tfr_crc(const uint8_t *data, size_t n)
{
    uint32_t crc = ~0U;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78U : 0);
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

static inline void tfr_put(uint8_t *at, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* What stands before a record of n bytes; returns its size. */
static inline size_t tfr_head(uint8_t *out, uint64_t n)
{
    tfr_put(out, n, 8);
    tfr_put(out + 8, tfr_crc(out, 8), 4);
    return 12;
}

/* Appends a framed record to out, returns the new end. */
static inline size_t tfr_add(uint8_t *out, size_t end, const void *data, size_t n)
{
    (void)tfr_head(out + end, n);
    if (n)
        memcpy(out + end + 12, data, n);
    tfr_put(out + end + 12 + n, tfr_crc(out + end + 12, n), 4);
    return end + 16 + n;
}

#endif
