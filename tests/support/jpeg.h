/* Runs images through the jpeg codec in tests. Header-only. */
#ifndef DLB_TESTS_JPEG_H
#define DLB_TESTS_JPEG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/io.h"
#include "formats/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dlb_err jpeg_err;

static inline const struct dlb_codec *jpeg_codec(void)
{
    return dlb_codec_by_name("jpeg");
}

static inline void jpeg_load(const char *name, struct dlb_bytes *out)
{
    const char *root = getenv("DLB_SOURCE_DIR");
    char path[1024], *text;
    (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/jpeg/%s", root ? root : ".", name);
    if (dlb_read_file(path, 1 << 20, &text, &out->len_bytes, &jpeg_err) != DLB_OK)
        fail_msg("%s: %s", jpeg_err.path, jpeg_err.what);
    out->data = (uint8_t *)text;
    out->cap_bytes = out->len_bytes;
}

static inline void *jpeg_open(const struct dlb_transform_opts *opts)
{
    size_t n_bytes = (jpeg_codec()->state_bytes + 63) & ~(size_t)63;
    void *state = aligned_alloc(64, n_bytes);
    assert_non_null(state);
    memset(state, 0, n_bytes);
    assert_int_equal(jpeg_codec()->open(state, opts, &jpeg_err), DLB_OK);
    return state;
}

static inline void jpeg_close(void *state)
{
    jpeg_codec()->close(state);
    free(state);
}

static inline int jpeg_decode(void *state, const struct dlb_bytes *jpeg, uint64_t draw)
{
    struct dlb_sample sample = {
        .field = {{.data = jpeg->data, .len_bytes = jpeg->len_bytes, .name = "jpg"}},
        .n_fields = 1,
        .path = "the/file.jpg",
        .offset_bytes = 77};
    jpeg_err = (struct dlb_err){0};
    return jpeg_codec()->decode(state, &sample, dlb_rng_seed(1, 2, draw), &jpeg_err);
}

/* One image through the whole codec; returns its bytes, malloced with exactly the room it may need.
 */
static inline uint8_t *jpeg_run(const struct dlb_transform_opts *opts, const struct dlb_bytes *jpeg,
                                uint64_t draw, size_t *len)
{
    struct dlb_shape shape = {.max_sample_bytes = jpeg->len_bytes};
    uint64_t cap = jpeg_codec()->max_output_bytes(opts, &shape);
    void *state = jpeg_open(opts);
    uint8_t *out = malloc(cap);
    assert_non_null(out);
    if (jpeg_decode(state, jpeg, draw) != DLB_OK ||
        jpeg_codec()->transform(state, out, cap, len, &jpeg_err) != DLB_OK)
        fail_msg("%s: %s", jpeg_err.path, jpeg_err.what);
    jpeg_close(state);
    return out;
}

static inline void jpeg_make_photo(struct dlb_bytes *jpeg, uint64_t index, int64_t mean_bytes)
{
    struct dlb_generate_opts opts = {.samples = 1000, .sample_bytes = mean_bytes, .seed = 5};
    jpeg->len_bytes = 0;
    assert_int_equal(jpeg_codec()->make(&opts, index, jpeg, &jpeg_err), DLB_OK);
}

#endif
