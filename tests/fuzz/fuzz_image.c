/* The way of a PNG or a WebP through the codec: header, crop, decode, resize. The first byte
 * chooses the options; an image as it is, is read too. fuzz_jpeg has JPEGs. */
#include "formats/codec.h"
#include "formats/codecs/image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Large images only cost time. */
static bool is_large(const uint8_t *data, size_t n_bytes)
{
    struct dlb_image *image = dlb_image_new();
    struct dlb_err err = {0};
    uint32_t width = 0, height = 0;

    if (!image)
        abort();
    int rc = dlb_image_start(image, data, n_bytes, false, &width, &height, &err);
    if (rc == DLB_OK && (uint64_t)width * height > DLB_IMAGE_MAX_PIXELS)
        abort();
    if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
        abort();
    dlb_image_free(image);
    return rc == DLB_OK && (uint64_t)width * height > 1 << 18;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_codec *codec = dlb_codec_by_name("image");
    struct dlb_err err = {0};

    if (codec->missing || n_bytes < 1)
        return 0;
    struct dlb_transform_opts opts = {.crop = data[0] % 4,
                                      .size = 1 + (data[0] >> 3),
                                      .flip = true,
                                      .pixels = (data[0] >> 2) & 1,
                                      .where = (data[0] >> 4) & 1,
                                      .scaled_decode = true,
                                      .whole_decode = (data[0] >> 5) & 1,
                                      .max_decoded_bytes = 1 << 16};
    if (dlb_image_kind(data, n_bytes) == DLB_IMAGE_UNKNOWN) {
        data++;
        n_bytes--;
    }
    if (dlb_image_kind(data, n_bytes) == DLB_IMAGE_JPEG || is_large(data, n_bytes))
        return 0;
    struct dlb_shape shape = {.max_sample_bytes = n_bytes};
    size_t cap = (size_t)codec->max_output_bytes(&opts, &shape), len;
    void *state = aligned_alloc(64, (codec->state_bytes + 63) & ~(size_t)63);
    uint8_t *out = malloc(cap ? cap : 1);
    if (!state || !out)
        abort();
    memset(state, 0, codec->state_bytes);
    if (codec->open(state, &opts, &err) != DLB_OK)
        abort();
    struct dlb_sample sample = {.n_fields = 1, .path = "fuzz", .offset_bytes = DLB_NO_OFFSET};
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = "png"};
    for (uint64_t draw = 0; draw < 2; draw++) {
        int rc = codec->decode(state, &sample, dlb_rng_seed(1, n_bytes, draw), &err);
        if (rc == DLB_OK)
            rc = codec->transform(state, out, cap, &len, &err);
        if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
            abort();
        if (rc == DLB_OK && len > cap)
            abort();
    }
    codec->close(state);
    free(state);
    free(out);
    return 0;
}
