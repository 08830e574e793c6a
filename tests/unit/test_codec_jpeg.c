/* formats/codecs/codec_jpeg: kinds of JPEG, colours, and files that are cut or damaged; the images
 * that gen makes. */
#include "tests/support/jpeg.h"

#include <math.h>

static void expect_pixel(const uint8_t *pixel, int red, int green, int blue)
{
    if (abs(pixel[0] - red) > 4 || abs(pixel[1] - green) > 4 || abs(pixel[2] - blue) > 4)
        fail_msg("pixel %d %d %d, expected %d %d %d", pixel[0], pixel[1], pixel[2], red, green,
                 blue);
}

/* 40 x 24, red up to column 16, blue from there. */
static void test_colours(void **state)
{
    static const char *const names[] = {"flat.jpg", "flat-rgb.jpg", "flat-cmyk.jpg"};
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .size = 8};
    struct dlb_bytes jpeg = {0};
    size_t len;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        jpeg_load(names[i], &jpeg);
        uint8_t *out = jpeg_run(&opts, &jpeg, 0, &len);
        assert_int_equal(len, 40 * 24 * 3);
        expect_pixel(out, 200, 30, 40);
        expect_pixel(out + 3 * (23 * 40 + 12), 200, 30, 40);
        expect_pixel(out + 3 * 19, 20, 60, 210);
        expect_pixel(out + 3 * (24 * 40 - 1), 20, 60, 210);
        free(out);
        dlb_bytes_free(&jpeg);
    }
    jpeg_load("flat-grey.jpg", &jpeg);
    uint8_t *out = jpeg_run(&opts, &jpeg, 0, &len);
    assert_int_equal(len, 40 * 24 * 3);
    expect_pixel(out, 82, 82, 82); /* ITU-R 601 luma of the two */
    expect_pixel(out + 3 * 30, 65, 65, 65);
    free(out);
    dlb_bytes_free(&jpeg);
}

static void test_kinds_of_jpeg(void **state)
{
    static const char *const names[] = {"photo-420.jpg",   "photo-422.jpg", "photo-444.jpg",
                                        "progressive.jpg", "restarts.jpg",  "grey.jpg",
                                        "one-pixel.jpg"};
    struct dlb_bytes jpeg = {0};
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        jpeg_load(names[i], &jpeg);
        for (int crop = DLB_CROP_RANDOM_RESIZED; crop <= DLB_CROP_CENTER; crop++)
            for (uint64_t draw = 0; draw < 40; draw++) {
                struct dlb_transform_opts opts = {
                    .crop = crop, .size = 13, .flip = true, .scaled_decode = draw & 1};
                uint8_t *out = jpeg_run(&opts, &jpeg, draw, &len);
                assert_int_equal(len, 13 * 13 * 3);
                free(out);
            }
        dlb_bytes_free(&jpeg);
    }
}

/* `code`: DLB_N_CODES for any. */
static void expect_refused(const struct dlb_bytes *jpeg, enum dlb_code code)
{
    static const int crops[] = {DLB_CROP_RANDOM_RESIZED, DLB_CROP_NONE};
    for (size_t i = 0; i < 2; i++) {
        struct dlb_transform_opts opts = {.crop = crops[i], .size = 8, .scaled_decode = true};
        void *state = jpeg_open(&opts);
        struct dlb_bytes good = {0};
        size_t len;
        uint8_t out[100 * 100 * 3];
        assert_int_equal(jpeg_decode(state, jpeg, 1), DLB_E_FORMAT);
        assert_string_equal(jpeg_err.path, "the/file.jpg");
        assert_int_equal(jpeg_err.offset_bytes, 77);
        if (code != DLB_N_CODES && jpeg_err.code != code)
            fail_msg("%s instead of %s: %s", dlb_code_name(jpeg_err.code), dlb_code_name(code),
                     jpeg_err.what);
        /* The state still decodes the next image. */
        jpeg_load("flat.jpg", &good);
        assert_int_equal(jpeg_decode(state, &good, 1), DLB_OK);
        assert_int_equal(jpeg_codec()->transform(state, out, sizeof out, &len, &jpeg_err), DLB_OK);
        jpeg_close(state);
        dlb_bytes_free(&good);
    }
}

static void test_cut_and_damaged(void **state)
{
    struct dlb_bytes jpeg = {0}, part;

    (void)state;
    jpeg_load("photo-420.jpg", &jpeg);
    part = jpeg;
    part.len_bytes = 0;
    expect_refused(&part, DLB_ERR_JPEG_NOT_A_JPEG);
    for (part.len_bytes = 1; part.len_bytes < jpeg.len_bytes; part.len_bytes += 13)
        expect_refused(&part, DLB_N_CODES);
    part.len_bytes = jpeg.len_bytes - 100;
    expect_refused(&part, DLB_ERR_JPEG_CUT_SHORT);
    /* Wrong bits in the coded data: the end-of-image marker too early. */
    uint8_t kept[2];
    memcpy(kept, jpeg.data + jpeg.len_bytes - 150, 2);
    memcpy(jpeg.data + jpeg.len_bytes - 150, "\xFF\xD9", 2);
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE};
    void *codec_state = jpeg_open(&opts);
    assert_int_equal(jpeg_decode(codec_state, &jpeg, 0), DLB_E_FORMAT);
    assert_int_equal(jpeg_err.code, DLB_ERR_JPEG_DAMAGED);
    memcpy(jpeg.data + jpeg.len_bytes - 150, kept, 2);
    /* Stray bytes between two markers and after the end are harmless. */
    static const uint8_t rubbish[] = {0, 1, 2, 3};
    struct dlb_bytes stuffed = {0};
    assert_int_equal(dlb_bytes_append(&stuffed, jpeg.data, 20, &jpeg_err),
                     DLB_OK); /* SOI and APP0 */
    assert_int_equal(dlb_bytes_append(&stuffed, rubbish, 4, &jpeg_err), DLB_OK);
    assert_int_equal(dlb_bytes_append(&stuffed, jpeg.data + 20, jpeg.len_bytes - 20, &jpeg_err),
                     DLB_OK);
    assert_int_equal(dlb_bytes_append(&stuffed, rubbish, 4, &jpeg_err), DLB_OK);
    assert_int_equal(jpeg_decode(codec_state, &stuffed, 0), DLB_OK);
    jpeg_close(codec_state);
    dlb_bytes_free(&stuffed);
    dlb_bytes_free(&jpeg);
}

/* No memory is taken for a header that claims 65,500 x 65,500 pixels. */
static void test_bomb(void **state)
{
    struct dlb_bytes jpeg = {0};

    (void)state;
    jpeg_load("photo-420.jpg", &jpeg);
    uint8_t *frame = memmem(jpeg.data, jpeg.len_bytes, "\xFF\xC0", 2);
    assert_non_null(frame);
    memcpy(frame + 5, "\xFF\xDC\xFF\xDC", 4);
    expect_refused(&jpeg, DLB_ERR_JPEG_TOO_LARGE);
    memcpy(frame + 5, "\x00\x00\x00\x00", 4);
    expect_refused(&jpeg, DLB_ERR_JPEG_DAMAGED);
    dlb_bytes_free(&jpeg);
}

/* Sizes of generated photographs: the requested mean, and a spread of at least a quarter of it. */
static void test_photo_sizes(void **state)
{
    enum { N = 150 };
    static const int64_t means[] = {5000, 15000};
    struct dlb_bytes jpeg = {0}, again = {0};

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < N; i++) {
            jpeg_make_photo(&jpeg, i, means[m]);
            sum += (double)jpeg.len_bytes;
            squares += (double)jpeg.len_bytes * (double)jpeg.len_bytes;
        }
        double mean = sum / N, spread = sqrt(squares / N - mean * mean) / mean;
        if (fabs(mean / (double)means[m] - 1) > 0.12 || spread < 0.25 || spread > 0.75)
            fail_msg("mean %.0f, spread %.2f of it", mean, spread);
    }
    jpeg_make_photo(&jpeg, 3, 5000);
    jpeg_make_photo(&again, 3, 5000);
    assert_int_equal(jpeg.len_bytes, again.len_bytes);
    assert_memory_equal(jpeg.data, again.data, jpeg.len_bytes);
    jpeg_make_photo(&again, 4, 5000);
    assert_true(jpeg.len_bytes != again.len_bytes ||
                memcmp(jpeg.data, again.data, jpeg.len_bytes) != 0);
    assert_int_equal(
        jpeg_codec()->make(&(struct dlb_generate_opts){.sample_bytes = 100}, 1, &jpeg, &jpeg_err),
        DLB_E_CONFIG);
    assert_int_equal(
        jpeg_codec()->make(&(struct dlb_generate_opts){.sample_bytes = INT64_C(1) << 40}, 1, &jpeg,
                           &jpeg_err),
        DLB_E_CONFIG);
    dlb_bytes_free(&jpeg);
    dlb_bytes_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),         cmocka_unit_test(test_kinds_of_jpeg),
        cmocka_unit_test(test_cut_and_damaged), cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_photo_sizes),
    };
    if (jpeg_codec()->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
