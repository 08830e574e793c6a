/* Tokens as a PyTorch data set hands them out: widened to int64 on the host, x and y both.
 *
 * Of T + 1 stored tokens, x is the first T and y the last T, 8 bytes each: 16 T bytes for 2 (T + 1)
 * of u16. */
#include "formats/codec.h"

#include <endian.h>
#include <string.h>

struct tokens {
    const uint8_t *data; /* the reader's, until its next call */
    size_t n;
    enum dlb_element element;
};

static int tokens_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    (void)cd, (void)opts, (void)err;
    return DLB_OK;
}

static void tokens_close(void *cd)
{
    (void)cd;
}

static uint64_t tokens_max_output_bytes(const struct dlb_transform_opts *opts,
                                        const struct dlb_shape *shape)
{
    uint64_t n = shape->max_sample_bytes / dlb_element_bytes(shape->element);
    (void)opts;
    return n > 1 ? (n - 1) * 2 * sizeof(int64_t) : 0;
}

static int tokens_decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng,
                         struct dlb_err *err)
{
    struct tokens *tokens = cd;
    const struct dlb_field *field = &in->field[0];

    (void)rng;
    if (in->n_fields < 1 || !dlb_element_is_integer(in->element))
        return dlb_fail(err, DLB_E_FORMAT, in->path, in->offset_bytes,
                        "holds %s: tokens are whole numbers", dlb_element_name(in->element));
    size_t each = dlb_element_bytes(in->element);
    if (field->len_bytes % each != 0 || field->len_bytes / each < 2)
        return dlb_fail(err, DLB_E_FORMAT, in->path, in->offset_bytes,
                        "a sample of %zu bytes is no two or more tokens of %s", field->len_bytes,
                        dlb_element_name(in->element));
    *tokens = (struct tokens){field->data, field->len_bytes / each, in->element};
    return DLB_OK;
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

static void widen(uint8_t *dst, const uint8_t *src, size_t n, enum dlb_element element)
{
    static void (*const by_element[])(uint8_t *, const uint8_t *, size_t) = {
        [DLB_ELEMENT_U8] = widen_u8,   [DLB_ELEMENT_I8] = widen_i8,   [DLB_ELEMENT_U16] = widen_u16,
        [DLB_ELEMENT_I16] = widen_i16, [DLB_ELEMENT_U32] = widen_u32, [DLB_ELEMENT_I32] = widen_i32,
        [DLB_ELEMENT_U64] = widen_64,  [DLB_ELEMENT_I64] = widen_64,
    };
    by_element[element](dst, src, n);
}

static int tokens_transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                            struct dlb_err *err)
{
    const struct tokens *tokens = cd;
    size_t n = tokens->n - 1, each = dlb_element_bytes(tokens->element), half = n * sizeof(int64_t);

    if (half * 2 > cap_bytes)
        return dlb_fail(err, DLB_E_FORMAT, NULL, DLB_NO_OFFSET,
                        "%zu tokens are more than the data set's largest sample: did it change?",
                        tokens->n);
    widen(dst, tokens->data, n, tokens->element);
    widen(dst + half, tokens->data + each, n, tokens->element);
    *len_bytes = half * 2;
    return DLB_OK;
}

const struct dlb_codec dlb_codec_tokens = {
    .name = "tokens",
    .summary = "tokens widened to int64 on the host: x and y of a training step",
    .numbers = true,
    .state_bytes = sizeof(struct tokens),
    .open = tokens_open,
    .close = tokens_close,
    .max_output_bytes = tokens_max_output_bytes,
    .decode = tokens_decode,
    .transform = tokens_transform,
    .extension = "bin",
};
