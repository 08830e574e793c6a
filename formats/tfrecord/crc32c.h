/* CRC-32C (Castagnoli), as iSCSI, ext4 and TFRecord use it.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_TFRECORD_CRC32C_H
#define DLB_FORMATS_TFRECORD_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues from `crc` (0 at the start). Uses the CPU's instruction where it has one. */
uint32_t dlb_crc32c(uint32_t crc, const uint8_t *data, size_t n_bytes);

/* The same by a table, for CPUs without the instruction. Tests compare the two. */
uint32_t dlb_crc32c_table(uint32_t crc, const uint8_t *data, size_t n_bytes);

/* The form that TFRecord stores: rotated and offset, because the CRC of data that contain their own
 * CRC is weak (tensorflow/core/lib/hash/crc32c.h, Mask). */
static inline uint32_t dlb_crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

#endif
