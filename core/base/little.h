/* Little-endian numbers inside files. They need not be aligned.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_LITTLE_H
#define DLB_CORE_BASE_LITTLE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number in the n_bytes at `at`; n_bytes is 0 to 8. */
static inline uint64_t dlb_little_get(const uint8_t *at, size_t n_bytes)
{
    uint64_t value = 0;

    if (n_bytes == sizeof value) {
        memcpy(&value, at, sizeof value);
        return le64toh(value);
    }
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Its lowest n_bytes (0 to 8) to `at`. */
static inline void dlb_little_put(uint8_t *at, uint64_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

#endif
