/* The way of an image through a codec: header, crop, decode, resize. Shared by fuzz_image and
 * fuzz_jpeg. Header-only. */
#ifndef DLB_TESTS_IMAGE_WAY_H
#define DLB_TESTS_IMAGE_WAY_H

#include "formats/codec.h"

#include <stdlib.h>
#include <string.h>

/* The first byte of an input chooses them. */
static inline struct dlb_transform_opts image_way_opts(uint8_t first)
{
    return (struct dlb_transform_opts){.crop = first % 4,
                                       .size = 1 + (first >> 3),
                                       .flip = true,
                                       .pixels = (first >> 2) & 1,
                                       .where = (first >> 4) & 1,
                                       .scaled_decode = true,
                                       .whole_decode = (first >> 5) & 1};
}

static inline void image_way_check(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && ((int)err->status != rc || err->what[0] == '\0'))
        abort();
}

/* Two draws; what is left to a device is done, too. */
static inline void image_way(const struct dlb_codec *codec, const struct dlb_transform_opts *opts,
                             const uint8_t *data, size_t n_bytes)
{
    struct dlb_shape shape = {.max_sample_bytes = n_bytes};
    size_t cap = (size_t)codec->max_output_bytes(opts, &shape), len;
    size_t n_state = (codec->state_bytes + 63) & ~(size_t)63;
    void *state = aligned_alloc(64, n_state);
    uint8_t *out = malloc(cap ? cap : 1);
    struct dlb_sample sample = {.n_fields = 1, .path = "fuzz", .offset_bytes = DLB_NO_OFFSET};
    struct dlb_err err = {0};
    struct dlb_augment how;

    if (!state || !out)
        abort();
    memset(state, 0, n_state);
    if (codec->open(state, opts, &err) != DLB_OK)
        abort();
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = "jpg"};
    bool made = opts->where == DLB_WHERE_GPU && codec->augment(opts, NULL, &how, &err) == DLB_OK;
    uint8_t *device = made ? malloc(how.out_bytes) : NULL;
    for (uint64_t draw = 0; draw < 2; draw++) {
        int rc = codec->decode(state, &sample, dlb_rng_seed(1, n_bytes, draw), &err);
        if (rc == DLB_OK)
            rc = codec->transform(state, out, cap, &len, &err);
        image_way_check(rc, &err);
        if (rc == DLB_OK && (len > cap || (made && len != how.in_bytes)))
            abort();
        if (rc == DLB_OK && device)
            dlb_augment_run(&how, out, device);
    }
    free(device);
    codec->close(state);
    free(state);
    free(out);
}

#endif
