/* The way of a JPEG through the codec: header, crop, decode, resize. The first byte chooses the
 * options. */
#include "formats/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Width times height of the first frame header, as far as it can be found without parsing: large
 * images only cost time. */
static uint64_t claimed_pixels(const uint8_t *data, size_t n_bytes)
{
    uint64_t most = 0;
    for (size_t i = 0; i + 9 <= n_bytes; i++)
        if (data[i] == 0xFF && data[i + 1] >= 0xC0 && data[i + 1] <= 0xCF) {
            uint64_t n = ((uint64_t)data[i + 5] << 8 | data[i + 6]) *
                         ((uint64_t)data[i + 7] << 8 | data[i + 8]);
            most = n > most ? n : most;
        }
    return most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_codec *codec = dlb_codec_by_name("jpeg");
    struct dlb_err err = {0};

    if (codec->missing || n_bytes < 1 || claimed_pixels(data, n_bytes) > 1 << 20)
        return 0;
    struct dlb_transform_opts opts = {.crop = data[0] % 4,
                                      .size = 1 + (data[0] >> 3),
                                      .flip = true,
                                      .pixels = (data[0] >> 2) & 1,
                                      .where = (data[0] >> 4) & 1,
                                      .scaled_decode = true,
                                      .whole_decode = (data[0] >> 5) & 1};
    /* JPEGs begin with 0xFF: of a file as it is, all bytes belong to it. */
    if (data[0] != 0xFF) {
        data++;
        n_bytes--;
    }
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
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = "jpg"};
    struct dlb_augment how;
    bool made = opts.where == DLB_WHERE_GPU && codec->augment(&opts, NULL, &how, &err) == DLB_OK;
    uint8_t *device = made ? malloc(how.out_bytes) : NULL;
    for (uint64_t draw = 0; draw < 2; draw++) {
        int rc = codec->decode(state, &sample, dlb_rng_seed(1, n_bytes, draw), &err);
        if (rc == DLB_OK)
            rc = codec->transform(state, out, cap, &len, &err);
        if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
            abort();
        if (rc == DLB_OK && (len > cap || (made && len != how.in_bytes)))
            abort();
        if (rc == DLB_OK && device)
            dlb_augment_run(&how, out, device);
    }
    free(device);
    codec->close(state);
    free(state);
    free(out);
    return 0;
}
