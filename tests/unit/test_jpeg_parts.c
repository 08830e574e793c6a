/* formats/codecs/jpeg: decoding a part gives the same pixels as decoding the whole image. */
#include "tests/support/jpeg.h"

#ifdef DLB_HAVE_JPEG

#include "formats/codecs/jpeg.h"

static struct dlb_image_pixels whole(struct dlb_jpeg *decoder, const struct dlb_bytes *jpeg,
                                     uint32_t denom)
{
    struct dlb_image_pixels pixels = {0};
    uint32_t w, h;
    assert_int_equal(dlb_jpeg_start(decoder, jpeg->data, jpeg->len_bytes, &w, &h, &jpeg_err),
                     DLB_OK);
    struct dlb_image_rect all = {0, 0, (w + denom - 1) / denom, (h + denom - 1) / denom};
    assert_int_equal(dlb_jpeg_decode(decoder, denom, &all, &pixels, &jpeg_err), DLB_OK);
    return pixels;
}

/* A part has the same pixels as in the whole image. */
static void test_parts(void **state)
{
    struct dlb_jpeg *decoder = dlb_jpeg_new();
    struct dlb_image_pixels part = {0};
    struct dlb_bytes jpeg = {0};
    struct dlb_rng rng = dlb_rng_seed(1, 1, 1);
    uint32_t w, h;

    (void)state;
    jpeg_make_photo(&jpeg, 3, 20000);
    for (uint32_t denom = 1; denom <= 8; denom *= 2) {
        struct dlb_image_pixels all = whole(decoder, &jpeg, denom);
        for (int i = 0; i < 60; i++) {
            struct dlb_image_rect want;
            want.x = (uint32_t)dlb_rng_below(&rng, all.rect.width);
            want.y = (uint32_t)dlb_rng_below(&rng, all.rect.height);
            want.width = 1 + (uint32_t)dlb_rng_below(&rng, all.rect.width - want.x);
            want.height = 1 + (uint32_t)dlb_rng_below(&rng, all.rect.height - want.y);
            assert_int_equal(dlb_jpeg_start(decoder, jpeg.data, jpeg.len_bytes, &w, &h, &jpeg_err),
                             DLB_OK);
            assert_int_equal(dlb_jpeg_decode(decoder, denom, &want, &part, &jpeg_err), DLB_OK);
            assert_true(part.rect.x <= want.x && part.rect.y == want.y &&
                        part.rect.x + part.rect.width >= want.x + want.width);
            for (uint32_t y = 0; y < want.height; y++)
                for (uint32_t x = 0; x < want.width; x++) {
                    const uint8_t *a =
                        part.data + 4 * (y * part.rect.width + x + want.x - part.rect.x);
                    const uint8_t *b = all.data + 4 * ((y + want.y) * all.rect.width + x + want.x);
                    if (memcmp(a, b, 3) != 0)
                        fail_msg("1/%u: %u,%u of %u,%u %ux%u: %d %d %d, in the whole %d %d %d",
                                 denom, x, y, want.x, want.y, want.width, want.height, a[0], a[1],
                                 a[2], b[0], b[1], b[2]);
                }
        }
        free(all.data);
    }
    free(part.data);
    dlb_bytes_free(&jpeg);
    dlb_jpeg_free(decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
