#include "formats/element.h"

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
