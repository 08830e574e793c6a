/* A sample through a codec of numbers or of packed bytes (fuzz_jpeg and fuzz_image have images).
 * The first byte says which codec, and which elements; the sample lies in memory of exactly its
 * size, and so does what it becomes. */
#include "formats/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const struct dlb_codec *choose(unsigned which)
{
    static const char *const names[] = {"tokens", "npy", "zstd"};
    return dlb_codec_by_name(names[which % 3]);
}

static void run(const struct dlb_codec *codec, const struct dlb_transform_opts *opts,
                const struct dlb_sample *sample, size_t cap)
{
    struct dlb_err err = {0};
    void *state = aligned_alloc(64, (codec->state_bytes + 63) & ~(size_t)63);
    uint8_t *out = malloc(cap + !cap);
    size_t len = 0;

    if (!state || !out)
        abort();
    memset(state, 0, codec->state_bytes);
    int rc = codec->open(state, opts, &err);
    if (rc == DLB_OK)
        rc = codec->decode(state, sample, dlb_rng_seed(1, 2, 3), &err);
    if (rc == DLB_OK)
        rc = codec->transform(state, out, cap, &len, &err);
    if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
        DLB_BUG("an error without words");
    if (rc == DLB_OK && len > cap)
        DLB_BUG("more than there was room for");
    codec->close(state);
    free(state);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 1)
        return 0;
    const struct dlb_codec *codec = choose(data[0]);
    if (codec->missing)
        return 0;
    struct dlb_transform_opts opts = {.where = data[0] >> 7, .max_decoded_bytes = 1 << 16};
    size_t n_src = n_bytes - 1;
    uint8_t *src = malloc(n_src + !n_src);
    if (!src)
        abort();
    memcpy(src, data + 1, n_src);
    struct dlb_sample sample = {
        .n_fields = 1, .path = "fuzz", .offset_bytes = 100, .element = DLB_ELEMENT_U8};
    sample.element = (enum dlb_element)((data[0] >> 2) % (DLB_ELEMENT_F64 + 1));
    sample.field[0] = (struct dlb_field){.data = src, .len_bytes = n_src, .name = ""};
    struct dlb_shape shape = {.max_sample_bytes = n_src, .element = sample.element};
    bool known = shape.element != DLB_ELEMENT_NONE;
    uint64_t cap = known || !codec->numbers ? codec->max_output_bytes(&opts, &shape) : 0;
    run(codec, &opts, &sample, cap < 1 << 20 ? (size_t)cap : 1 << 20);
    run(codec, &opts, &sample, n_src / 2);
    free(src);
    return 0;
}
