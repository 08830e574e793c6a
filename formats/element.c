#include "formats/element.h"

#include <endian.h>
#include <string.h>

static const struct {
    const char *name;
    size_t n_bytes;
    bool integer;
} elements[] = {
    [DLB_ELEMENT_NONE] = {"bytes", 1, false}, [DLB_ELEMENT_U8] = {"u8", 1, true},
    [DLB_ELEMENT_I8] = {"i8", 1, true},       [DLB_ELEMENT_U16] = {"u16", 2, true},
    [DLB_ELEMENT_I16] = {"i16", 2, true},     [DLB_ELEMENT_U32] = {"u32", 4, true},
    [DLB_ELEMENT_I32] = {"i32", 4, true},     [DLB_ELEMENT_U64] = {"u64", 8, true},
    [DLB_ELEMENT_I64] = {"i64", 8, true},     [DLB_ELEMENT_F16] = {"f16", 2, false},
    [DLB_ELEMENT_F32] = {"f32", 4, false},    [DLB_ELEMENT_F64] = {"f64", 8, false},
};

size_t dlb_element_bytes(enum dlb_element element)
{
    return elements[element].n_bytes;
}

const char *dlb_element_name(enum dlb_element element)
{
    return elements[element].name;
}

bool dlb_element_is_integer(enum dlb_element element)
{
    return elements[element].integer;
}

/* memcpy, since neither side need be aligned; compilers make wide loads and stores of it. */
#define WIDEN(name, stored, number, from_little)                                                   \
    static void name(uint8_t *dst, const uint8_t *src, size_t n)                                   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            stored value;                                                                          \
            memcpy(&value, src + i * sizeof value, sizeof value);                                  \
            uint64_t wide = htole64((uint64_t)(int64_t)(number)from_little(value));                \
            memcpy(dst + i * sizeof wide, &wide, sizeof wide);                                     \
        }                                                                                          \
    }
#define AS_IT_IS(value) (value)
WIDEN(widen_u8, uint8_t, uint8_t, AS_IT_IS)
WIDEN(widen_i8, uint8_t, int8_t, AS_IT_IS)
WIDEN(widen_u16, uint16_t, uint16_t, le16toh)
WIDEN(widen_i16, uint16_t, int16_t, le16toh)
WIDEN(widen_u32, uint32_t, uint32_t, le32toh)
WIDEN(widen_i32, uint32_t, int32_t, le32toh)
WIDEN(widen_64, uint64_t, int64_t, le64toh)

void dlb_element_widen(uint8_t *dst, const uint8_t *src, size_t n, enum dlb_element element)
{
    static void (*const by_element[])(uint8_t *, const uint8_t *, size_t) = {
        [DLB_ELEMENT_U8] = widen_u8,   [DLB_ELEMENT_I8] = widen_i8,   [DLB_ELEMENT_U16] = widen_u16,
        [DLB_ELEMENT_I16] = widen_i16, [DLB_ELEMENT_U32] = widen_u32, [DLB_ELEMENT_I32] = widen_i32,
        [DLB_ELEMENT_U64] = widen_64,  [DLB_ELEMENT_I64] = widen_64,
    };
    by_element[element](dst, src, n);
}
