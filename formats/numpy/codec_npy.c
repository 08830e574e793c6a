/* Each sample is a .npy file. Its header is parsed and removed; the array's bytes are the payload.
 */
#include "formats/codec.h"

#include "core/base/little.h"
#include "formats/numpy/npy.h"

#include <string.h>

struct npy {
    const uint8_t *data; /* borrowed from the reader until its next call */
    size_t n_bytes;
};

static int npy_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    (void)cd, (void)opts, (void)err;
    return DLB_OK;
}

static void npy_close(void *cd)
{
    (void)cd;
}

static uint64_t npy_max_output_bytes(const struct dlb_transform_opts *opts,
                                     const struct dlb_shape *shape)
{
    (void)opts;
    return shape->max_sample_bytes;
}

static int npy_decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng,
                      struct dlb_err *err)
{
    struct npy *state = cd;
    const struct dlb_field *field = &in->field[0];
    struct dlb_npy npy;

    (void)rng;
    if (in->n_fields < 1)
        return dlb_fail(err, DLB_ERR_SAMPLE_NO_FIELDS, in->path, in->offset_bytes,
                        "a sample without fields");
    int rc = dlb_npy_parse(field->data, field->len_bytes, field->len_bytes, in->path, &npy, err);
    if (rc == DLB_OK)
        rc = dlb_npy_data_bytes(&npy, field->len_bytes, in->path, &state->n_bytes, err);
    if (rc != DLB_OK) {
        /* The parser's offsets count within the sample. */
        if (in->offset_bytes != DLB_NO_OFFSET && err->offset_bytes != DLB_NO_OFFSET)
            err->offset_bytes += in->offset_bytes;
        return rc;
    }
    state->data = field->data + npy.data_at;
    return DLB_OK;
}

static int npy_transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                         struct dlb_err *err)
{
    const struct npy *state = cd;

    if (state->n_bytes > cap_bytes)
        return dlb_fail(err, DLB_ERR_SAMPLE_TOO_LARGE, NULL, DLB_NO_OFFSET,
                        "an array has %zu bytes, more than the %zu of the data set's largest "
                        "sample: did it change?",
                        state->n_bytes, cap_bytes);
    if (state->n_bytes)
        memcpy(dst, state->data, state->n_bytes);
    *len_bytes = state->n_bytes;
    return DLB_OK;
}

/* A 1-D array of float32, uniform in [-1, 1). The file has sample_bytes, rounded to a multiple of
 * 4, and at least one number. */
static int npy_make(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                    struct dlb_err *err)
{
    enum { CHUNK = 512 };
    struct dlb_rng rng = dlb_rng_seed((uint64_t)opts->seed, index, UINT64_C(0x6e7079)); /* "npy" */
    uint8_t head[128];
    uint8_t chunk[CHUNK * sizeof(float)];
    uint64_t asked = (uint64_t)opts->sample_bytes;
    uint64_t n = asked > sizeof head + 4 ? (asked - sizeof head) / 4 : 1;
    size_t n_head = dlb_npy_header(DLB_ELEMENT_F32, n, head, sizeof head);

    int rc = dlb_bytes_append(out, head, n_head, err);
    while (rc == DLB_OK && n > 0) {
        uint32_t here = n < CHUNK ? (uint32_t)n : CHUNK;
        for (uint32_t i = 0; i < here; i++) {
            float value = (float)((int32_t)(dlb_rng_u64(&rng) >> 40) - (1 << 23)) * 0x1p-23F;
            uint32_t stored;
            memcpy(&stored, &value, sizeof stored);
            dlb_little_put(chunk + i * sizeof stored, stored, sizeof stored);
        }
        rc = dlb_bytes_append(out, chunk, here * sizeof(float), err);
        n -= here;
    }
    return rc;
}

static const char *const extensions[] = {"npy", NULL};

const struct dlb_codec dlb_codec_npy = {
    .name = "npy",
    .summary = "a .npy file a sample: the array's bytes without the header",
    .extensions = extensions,
    .state_bytes = sizeof(struct npy),
    .open = npy_open,
    .close = npy_close,
    .max_output_bytes = npy_max_output_bytes,
    .decode = npy_decode,
    .transform = npy_transform,
    .extension = "npy",
    .make = npy_make,
};
