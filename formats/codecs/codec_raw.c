/* No codec: a sample's bytes are the payload. The baseline for every other codec. */
#include "formats/codec.h"

#include <endian.h>
#include <string.h>

static int raw_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    (void)cd, (void)opts, (void)err;
    return DLB_OK;
}

static void raw_close(void *cd)
{
    (void)cd;
}

static uint64_t raw_max_output_bytes(const struct dlb_transform_opts *opts,
                                     const struct dlb_shape *shape)
{
    (void)opts;
    return shape->max_sample_bytes;
}

/* Noise, so that no compressing file system or disk stores less than sample_bytes. */
static int raw_make(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                    struct dlb_err *err)
{
    struct dlb_rng rng = dlb_rng_seed((uint64_t)opts->seed, index, 0);
    uint64_t left = (uint64_t)opts->sample_bytes;
    uint64_t words[512];

    while (left > 0) {
        size_t n = left < sizeof words ? (size_t)left : sizeof words;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            words[i] = htole64(dlb_rng_u64(&rng));
        int rc = dlb_bytes_append(out, words, n, err);
        if (rc != DLB_OK)
            return rc;
        left -= n;
    }
    return DLB_OK;
}

const struct dlb_codec dlb_codec_raw = {
    .name = "raw",
    .summary = "the sample's bytes as they are",
    .identity = true,
    .state_bytes = 64,
    .open = raw_open,
    .close = raw_close,
    .max_output_bytes = raw_max_output_bytes,
    .extension = "bin",
    .make = raw_make,
};
