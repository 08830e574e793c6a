/* Tokens as a PyTorch data set returns them: x and y, both widened to int64.
 *
 * Of T + 1 stored tokens, x is the first T and y the last T, 8 bytes each: 16 T bytes for 2 (T + 1)
 * of u16. With transform.where = "gpu" they are delivered as they are stored, and the device widens
 * them. */
#include "formats/codec.h"
#include "formats/codecs/augment.h"

#include <string.h>

struct tokens {
    const uint8_t *data; /* the reader's, until its next call */
    size_t n;
    enum dlb_element element;
    bool as_stored; /* the device widens */
};

static int tokens_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    (void)err;
    ((struct tokens *)cd)->as_stored = opts->where == DLB_WHERE_GPU;
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
    if (opts->where == DLB_WHERE_GPU)
        return shape->max_sample_bytes;
    return n > 1 ? (n - 1) * 2 * sizeof(int64_t) : 0;
}

static int tokens_decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng,
                         struct dlb_err *err)
{
    struct tokens *tokens = cd;
    const struct dlb_field *field = &in->field[0];

    (void)rng;
    if (in->n_fields < 1 || !dlb_element_is_integer(in->element))
        return dlb_fail(err, DLB_ERR_TOKENS_NO_INTEGERS, in->path, in->offset_bytes,
                        "holds %s: tokens are whole numbers", dlb_element_name(in->element));
    size_t each = dlb_element_bytes(in->element);
    if (field->len_bytes % each != 0 || field->len_bytes / each < 2)
        return dlb_fail(err, DLB_ERR_TOKENS_SAMPLE_UNFIT, in->path, in->offset_bytes,
                        "a sample of %zu bytes is not at least two whole tokens of %s",
                        field->len_bytes, dlb_element_name(in->element));
    tokens->data = field->data;
    tokens->n = field->len_bytes / each;
    tokens->element = in->element;
    return DLB_OK;
}

static int tokens_transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                            struct dlb_err *err)
{
    const struct tokens *tokens = cd;
    size_t each = dlb_element_bytes(tokens->element);
    struct dlb_augment widen = dlb_augment_widen(tokens->element, (uint32_t)tokens->n);

    *len_bytes = tokens->as_stored ? tokens->n * each : widen.out_bytes;
    if (*len_bytes > cap_bytes || tokens->n > UINT32_MAX)
        return dlb_fail(err, DLB_ERR_SAMPLE_TOO_LARGE, NULL, DLB_NO_OFFSET,
                        "%zu tokens are more than the data set's largest sample: did it change?",
                        tokens->n);
    if (tokens->as_stored)
        memcpy(dst, tokens->data, *len_bytes);
    else
        dlb_augment_run(&widen, tokens->data, dst);
    return DLB_OK;
}

static int tokens_augment(const struct dlb_transform_opts *opts, const struct dlb_shape *shape,
                          struct dlb_augment *out, struct dlb_err *err)
{
    (void)opts;
    if (!shape)
        return DLB_OK;
    uint64_t n = shape->max_sample_bytes / dlb_element_bytes(shape->element);
    if (!dlb_element_is_integer(shape->element) || n < 2 || n > UINT32_MAX)
        return dlb_fail(err, DLB_ERR_TOKENS_SAMPLE_UNFIT, NULL, DLB_NO_OFFSET,
                        "samples of %llu %s: tokens are two or more whole numbers",
                        (unsigned long long)n, dlb_element_name(shape->element));
    *out = dlb_augment_widen(shape->element, (uint32_t)n);
    return DLB_OK;
}

const struct dlb_codec dlb_codec_tokens = {
    .name = "tokens",
    .summary = "tokens widened to int64: x and y of a training step",
    .numbers = true,
    .state_bytes = sizeof(struct tokens),
    .open = tokens_open,
    .close = tokens_close,
    .max_output_bytes = tokens_max_output_bytes,
    .decode = tokens_decode,
    .transform = tokens_transform,
    .augment = tokens_augment,
    .extension = "bin",
};
