/* A sample compressed by itself: one zstd frame (or several, back to back), which the worker
 * unpacks in `decode` and places in `transform`.
 *
 * How large a sample may become is not written where a data set is listed, so a few samples are
 * unpacked when it opens (formats/look.h); transform.max_decoded_bytes sets it explicitly. */
#include "formats/codec.h"

#ifdef DLB_HAVE_ZSTD

#include "formats/codecs/zstd.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

struct zstd {
    struct dlb_unzstd unzstd;
    uint64_t limit_bytes;
};

static int zstd_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    struct zstd *zstd = cd;
    (void)err;
    *zstd = (struct zstd){.limit_bytes = opts ? (uint64_t)opts->max_decoded_bytes : 0};
    return DLB_OK;
}

static void zstd_close(void *cd)
{
    dlb_unzstd_free(&((struct zstd *)cd)->unzstd);
}

static uint64_t zstd_max_output_bytes(const struct dlb_transform_opts *opts,
                                      const struct dlb_shape *shape)
{
    return opts->max_decoded_bytes ? (uint64_t)opts->max_decoded_bytes : shape->max_decoded_bytes;
}

static int zstd_decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng,
                       struct dlb_err *err)
{
    struct zstd *zstd = cd;

    (void)rng;
    if (in->n_fields < 1)
        return dlb_fail(err, DLB_ERR_SAMPLE_NO_FIELDS, in->path, in->offset_bytes,
                        "the sample has no field to unpack");
    int rc = dlb_unzstd(&zstd->unzstd, in->field[0].data, in->field[0].len_bytes, zstd->limit_bytes,
                        err);
    if (rc == DLB_OK)
        return DLB_OK;
    if (in->path)
        (void)dlb_fail_at_path(err, in->path);
    if (err->offset_bytes == DLB_NO_OFFSET)
        err->offset_bytes = in->offset_bytes;
    return rc;
}

static uint64_t zstd_decoded_bytes(const void *cd)
{
    return ((const struct zstd *)cd)->unzstd.out.len_bytes;
}

static int zstd_transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                          struct dlb_err *err)
{
    const struct dlb_bytes *out = &((struct zstd *)cd)->unzstd.out;

    if (out->len_bytes > cap_bytes)
        return dlb_fail(
            err, DLB_ERR_SAMPLE_EXCEEDS_SLOT, NULL, DLB_NO_OFFSET,
            "a sample of %zu bytes is larger than the %zu estimated from other samples: "
            "set transform.max_decoded_bytes",
            out->len_bytes, cap_bytes);
    if (out->len_bytes)
        memcpy(dst, out->data, out->len_bytes);
    *len_bytes = out->len_bytes;
    return DLB_OK;
}

/* Words of eight bytes from a vocabulary of 4,096, small numbers more often than large ones, and
 * every fourth word noise. zstd finds matches and literals in it and halves it, as it does records
 * and text. */
enum { WORDS_MASK = 4095, NOISE_MASK = 3 };

static int zstd_make(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                     struct dlb_err *err)
{
    struct dlb_rng rng = dlb_rng_seed((uint64_t)opts->seed, index, UINT64_C(0x7a737464));
    size_t n_bytes = (size_t)opts->sample_bytes;
    uint8_t *data = malloc(n_bytes + sizeof(uint64_t));

    if (!data)
        return dlb_fail_memory(err, NULL, n_bytes);
    for (size_t at = 0; at < n_bytes; at += sizeof(uint64_t)) {
        uint64_t word = dlb_rng_u64(&rng);
        if ((word & NOISE_MASK) != 0) /* of two draws, each bit set in both: a quarter of them */
            word = dlb_mix64((uint64_t)opts->seed + (word >> 40 & word >> 20 & WORDS_MASK));
        word = htole64(word);
        memcpy(data + at, &word, sizeof word);
    }
    int rc = dlb_zstd_append(out, data, n_bytes, err);
    free(data);
    return rc;
}

static const char *const extensions[] = {"zst", "zstd", NULL};

const struct dlb_codec dlb_codec_zstd = {
    .name = "zstd",
    .summary = "each sample a zstd frame, unpacked by the worker",
    .extensions = extensions,
    .state_bytes = sizeof(struct zstd),
    .open = zstd_open,
    .close = zstd_close,
    .max_output_bytes = zstd_max_output_bytes,
    .decode = zstd_decode,
    .decoded_bytes = zstd_decoded_bytes,
    .transform = zstd_transform,
    .extension = "zst",
    .make = zstd_make,
    .make_compresses = true,
};

#else

static const char *const extensions[] = {"zst", "zstd", NULL};

const struct dlb_codec dlb_codec_zstd = {
    .name = "zstd",
    .summary = "each sample a zstd frame, unpacked by the worker",
    .missing = "built without libzstd",
    .extensions = extensions,
    .state_bytes = 64,
};

#endif
