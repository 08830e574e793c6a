/* Every kind of PNG, and WebP by Pillow: codec image gives the bytes of Pillow's convert("RGB"), of
 * whole images and of their parts, and so does codec jpeg. Skipped where there is no Python with
 * numpy and Pillow ($PYTHON, or python3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/codec.h"
#include "formats/codecs/image.h"
#include "tests/support/peers.h"

/* A sample through a codec. */
static uint8_t *run(const char *codec_name, const struct dlb_transform_opts *opts,
                    const struct dlb_sample *sample, size_t cap, size_t *len)
{
    const struct dlb_codec *codec = dlb_codec_by_name(codec_name);
    size_t n_bytes = (codec->state_bytes + 63) & ~(size_t)63;
    void *state = aligned_alloc(64, n_bytes);
    uint8_t *out = malloc(cap);
    struct dlb_err err = {0};

    assert_non_null(state);
    assert_non_null(out);
    memset(state, 0, n_bytes);
    assert_int_equal(codec->open(state, opts, &err), DLB_OK);
    if (codec->decode(state, sample, dlb_rng_seed(1, 2, 3), &err) != DLB_OK ||
        codec->transform(state, out, cap, len, &err) != DLB_OK)
        fail_msg("%s: codec %s: %s", sample->path, codec_name, err.what);
    codec->close(state);
    free(state);
    return out;
}

/* Parts of the image have the pixels of the whole one. */
static void check_parts(const struct dlb_sample *sample, const uint8_t *rgb, uint32_t width,
                        uint32_t height)
{
    struct dlb_image *image = dlb_image_new();
    struct dlb_image_pixels part = {0};
    struct dlb_rng rng = dlb_rng_seed(4, 5, 6);
    struct dlb_err err;
    uint32_t w, h;

    assert_non_null(image);
    for (int i = 0; i < 12; i++) {
        struct dlb_image_rect want;
        want.x = (uint32_t)dlb_rng_below(&rng, width);
        want.y = (uint32_t)dlb_rng_below(&rng, height);
        want.width = 1 + (uint32_t)dlb_rng_below(&rng, width - want.x);
        want.height = 1 + (uint32_t)dlb_rng_below(&rng, height - want.y);
        assert_int_equal(dlb_image_start(image, sample->field[0].data, sample->field[0].len_bytes,
                                         false, &w, &h, &err),
                         DLB_OK);
        assert_int_equal(dlb_image_decode(image, 1, &want, &part, &err), DLB_OK);
        for (uint32_t y = want.y; y < want.y + want.height; y++)
            for (uint32_t x = want.x; x < want.x + want.width; x++)
                if (memcmp(part.data +
                               ((size_t)(y - part.rect.y) * part.rect.width + x - part.rect.x) * 4,
                           rgb + ((size_t)y * width + x) * 3, 3) != 0)
                    fail_msg("%s: pixel (%u, %u) of a part differs", sample->path, x, y);
    }
    free(part.data);
    dlb_image_free(image);
}

static void check(const char *name)
{
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .size = 24};
    char want_name[128];
    uint32_t size[2];
    size_t n_bytes, n_want, len;

    (void)snprintf(want_name, sizeof want_name, "%s.rgb", name);
    uint8_t *data = folder_read(name, &n_bytes), *want = folder_read(want_name, &n_want);
    memcpy(size, want, sizeof size);
    struct dlb_sample sample = {.n_fields = 1, .path = name, .offset_bytes = DLB_NO_OFFSET};
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = "png"};
    opts.max_decoded_bytes = (int64_t)n_want;
    uint8_t *got = run("image", &opts, &sample, n_want, &len);
    assert_int_equal(len, n_want - 8);
    for (size_t i = 0; i < len; i++)
        if (got[i] != want[8 + i])
            fail_msg("%s: byte %zu is %u instead of %u", name, i, got[i], want[8 + i]);
    free(got);
    check_parts(&sample, want + 8, size[0], size[1]);

    opts.crop = DLB_CROP_CENTER;
    got = run("image", &opts, &sample, 24 * 24 * 3, &len);
    if (!dlb_codec_by_name("jpeg")->missing) {
        uint8_t *other = run("jpeg", &opts, &sample, 24 * 24 * 3, &len);
        assert_memory_equal(got, other, 24 * 24 * 3);
        free(other);
    }
    free(got);
    free(want);
    free(data);
}

static void images_by_others(void **state)
{
    size_t n;
    uint32_t n_png = 0;
    struct dlb_image *image = dlb_image_new();
    struct dlb_err err;
    uint32_t width, height;
    (void)state;
    uint8_t *list = folder_read("list", &n);

    list[n] = '\0';
    for (char *rest = NULL, *line = strtok_r((char *)list, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        size_t n_bytes;
        uint8_t *data = folder_read(line, &n_bytes);
        bool decoded = dlb_image_start(image, data, n_bytes, false, &width, &height, &err) ==
                       DLB_OK; /* else this build lacks the library */
        free(data);
        if (!decoded) {
            assert_int_equal(err.code, DLB_ERR_IMAGE_UNKNOWN);
            continue;
        }
        check(line);
        n_png += strstr(line, ".png") != NULL;
    }
    assert_int_equal(n_png, 90);
    dlb_image_free(image);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(images_by_others)};

    if (dlb_codec_by_name("image")->missing)
        return 77;
    return peers_run("write_images.py", "", tests, sizeof tests / sizeof *tests);
}
