/* Types of the numbers in a payload, where the format knows them. Always little-endian.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_ELEMENT_H
#define DLB_FORMATS_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_element {
    DLB_ELEMENT_NONE, /* bytes */
    DLB_ELEMENT_U8,
    DLB_ELEMENT_I8,
    DLB_ELEMENT_U16,
    DLB_ELEMENT_I16,
    DLB_ELEMENT_U32,
    DLB_ELEMENT_I32,
    DLB_ELEMENT_U64,
    DLB_ELEMENT_I64,
    DLB_ELEMENT_F16,
    DLB_ELEMENT_F32,
    DLB_ELEMENT_F64,
};

size_t dlb_element_bytes(enum dlb_element element);     /* 1 for NONE */
const char *dlb_element_name(enum dlb_element element); /* "u16"; "bytes" for NONE */
bool dlb_element_is_integer(enum dlb_element element);

/* `n` whole numbers to int64; neither side need be aligned. */
void dlb_element_widen(uint8_t *dst, const uint8_t *src, size_t n, enum dlb_element element);

#endif
