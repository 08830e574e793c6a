/* formats/codecs/crop and resample, alone and in codec_jpeg: geometry, exactness, flips, floats. */
#include "tests/support/jpeg.h"

#include "formats/codecs/crop.h"
#include "formats/codecs/resample.h"

#include <math.h>
#include <stdbool.h>

enum { SLACK_BYTES = 16 };

/* Pillow's filter in doubles, one output channel at a time. */
static double exact(const uint8_t *src, uint32_t width, uint32_t channel, const double box[4],
                    uint32_t n_x, uint32_t n_y, uint32_t x, uint32_t y, const uint32_t bounds[4])
{
    double scale[2] = {box[2] / n_x, box[3] / n_y};
    double center[2] = {box[0] + (x + 0.5) * scale[0], box[1] + (y + 0.5) * scale[1]};
    double sum = 0, weights = 0, radius[2] = {fmax(1, scale[0]), fmax(1, scale[1])};

    for (uint32_t v = bounds[1]; v < bounds[3]; v++) {
        double wy = 1 - fabs((v + 0.5 - center[1]) / radius[1]);
        for (uint32_t u = bounds[0]; wy > 0 && u < bounds[2]; u++) {
            double wx = 1 - fabs((u + 0.5 - center[0]) / radius[0]);
            if (wx <= 0)
                continue;
            sum += wx * wy * src[4 * (v * width + u) + channel];
            weights += wx * wy;
        }
    }
    return sum / weights;
}

static void test_resampling_is_exact(void **state)
{
    enum { W = 61, H = 47 };
    static const struct {
        double box[4];
        uint32_t n_x, n_y;
    } cases[] = {{{0, 0, W, H}, 20, 20},          {{3, 5, 17, 11}, 32, 40}, {{0, 0, W, H}, W, H},
                 {{1.5, 2.25, 40.5, 30.5}, 7, 9}, {{60, 46, 1, 1}, 5, 5},   {{0, 0, W, H}, 1, 1}};
    uint8_t src[W * H * 4 + SLACK_BYTES];
    struct dlb_rng rng = dlb_rng_seed(4, 4, 4);
    struct dlb_axis across = {0}, down = {0};
    struct dlb_resample_scratch scratch = {0};

    (void)state;
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = dlb_rng_below(&rng, 3) == 0 ? 255 : (uint8_t)dlb_rng_u64(&rng);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *box = cases[i].box;
        uint32_t bounds[4] = {(uint32_t)box[0], (uint32_t)box[1], (uint32_t)ceil(box[0] + box[2]),
                              (uint32_t)ceil(box[1] + box[3])};
        struct dlb_axis_over wide = {box[0], box[2] / cases[i].n_x, 0, bounds[0], bounds[2]};
        struct dlb_axis_over high = {box[1], box[3] / cases[i].n_y, 0, bounds[1], bounds[3]};
        assert_int_equal(dlb_axis_make(&across, cases[i].n_x, &wide, i & 1, DLB_AXIS_ACROSS), 0);
        assert_int_equal(dlb_axis_make(&down, cases[i].n_y, &high, false, DLB_AXIS_DOWN), 0);
        assert_true(across.low >= bounds[0] && across.end <= bounds[2]);
        assert_true(down.low >= bounds[1] && down.end <= bounds[3]);
        for (uint32_t y = 0; y < cases[i].n_y; y++) {
            const uint16_t *row =
                dlb_resample_row(&scratch, &across, &down, y, src, W * 4, 0, 0, W);
            for (uint32_t x = 0; x < cases[i].n_x; x++)
                for (uint32_t c = 0; c < 3; c++) {
                    uint32_t from = i & 1 ? cases[i].n_x - 1 - x : x;
                    double want =
                        exact(src, W, c, box, cases[i].n_x, cases[i].n_y, from, y, bounds);
                    int got = (row[4 * x + c] + 128) >> 8;
                    if (fabs(got - want) > 1)
                        fail_msg("case %zu at %u,%u: %d, exactly %.3f", i, x, y, got, want);
                }
        }
    }
    dlb_axis_free(&across);
    dlb_axis_free(&down);
    dlb_resample_free(&scratch);
}

static double mean_difference(const uint8_t *a, const uint8_t *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    return sum / (double)n;
}

/* An image decoded at 1/2 and resized nearly equals one that was decoded in full. */
static void test_scaled_decode(void **state)
{
    struct dlb_transform_opts opts = {.crop = DLB_CROP_CENTER, .size = 96};
    struct dlb_bytes jpeg = {0};
    size_t len;

    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        jpeg_make_photo(&jpeg, i, 60000);
        opts.scaled_decode = false;
        uint8_t *full = jpeg_run(&opts, &jpeg, 0, &len);
        opts.scaled_decode = true;
        uint8_t *scaled = jpeg_run(&opts, &jpeg, 0, &len);
        double difference = mean_difference(full, scaled, len);
        assert_true(difference > 0); /* it was used */
        if (difference > 3)
            fail_msg("differs by %.2f levels", difference);
        free(full);
        free(scaled);
    }
    dlb_bytes_free(&jpeg);
}

/* What is decoded beside the crop does not change it. */
static void test_whole_decode(void **state)
{
    struct dlb_bytes jpeg = {0};
    size_t len, len_whole;

    (void)state;
    jpeg_make_photo(&jpeg, 3, 60000);
    for (int crop = DLB_CROP_RANDOM_RESIZED; crop <= DLB_CROP_RANDOM; crop++)
        for (uint64_t draw = 0; draw < 8; draw++) {
            struct dlb_transform_opts opts = {.crop = crop, .size = 48, .flip = true};
            uint8_t *needed = jpeg_run(&opts, &jpeg, draw, &len);
            opts.whole_decode = opts.scaled_decode = true; /* which it overrules */
            uint8_t *whole = jpeg_run(&opts, &jpeg, draw, &len_whole);
            assert_int_equal(len, len_whole);
            assert_memory_equal(needed, whole, len);
            free(needed);
            free(whole);
        }
    dlb_bytes_free(&jpeg);
}

static void test_floats(void **state)
{
    static const double mean[3] = {0.485, 0.456, 0.406}, deviation[3] = {0.229, 0.224, 0.225};
    struct dlb_bytes jpeg = {0};
    size_t len;

    (void)state;
    jpeg_load("photo-444.jpg", &jpeg);
    for (int crop = DLB_CROP_RANDOM_RESIZED; crop <= DLB_CROP_NONE; crop++) {
        struct dlb_transform_opts opts = {.crop = crop, .size = 9, .flip = true};
        uint8_t *bytes = jpeg_run(&opts, &jpeg, 6, &len);
        opts.pixels = DLB_PIXELS_F32;
        size_t n = len / 3, len_floats;
        float *floats = (float *)(void *)jpeg_run(&opts, &jpeg, 6, &len_floats);
        assert_int_equal(len_floats, len * 4);
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 3; c++) {
                double want = (bytes[3 * i + c] / 255.0 - mean[c]) / deviation[c];
                assert_true(fabs(floats[c * n + i] - want) < 1e-5);
            }
        free(bytes);
        free(floats);
    }
    dlb_bytes_free(&jpeg);
}

static void test_flip_mirrors(void **state)
{
    struct dlb_bytes jpeg = {0};
    size_t len;
    unsigned n_flipped = 0;

    (void)state;
    jpeg_load("photo-420.jpg", &jpeg);
    for (uint64_t draw = 0; draw < 40; draw++) {
        struct dlb_transform_opts opts = {.size = 10};
        uint8_t *plain = jpeg_run(&opts, &jpeg, draw, &len);
        opts.flip = true;
        uint8_t *maybe = jpeg_run(&opts, &jpeg, draw, &len);
        bool same = memcmp(plain, maybe, len) == 0, mirrored = true;
        for (size_t y = 0; y < 10; y++)
            for (size_t x = 0; x < 10; x++)
                mirrored &= memcmp(plain + 3 * (y * 10 + x), maybe + 3 * (y * 10 + 9 - x), 3) == 0;
        assert_true(same || mirrored);
        n_flipped += !same;
        free(plain);
        free(maybe);
    }
    assert_in_range(n_flipped, 8, 32);
    dlb_bytes_free(&jpeg);
}

/* torchvision's distribution: area from 8% to all of it, ratio within 3/4 and 4/3, places all over.
 */
static void test_random_resized_crop(void **state)
{
    double area_sum = 0, left = 1e9, right = 0;
    unsigned n_flip = 0;

    (void)state;
    for (uint64_t i = 0; i < 4000; i++) {
        struct dlb_rng rng = dlb_rng_seed(9, 0, i), again = rng;
        struct dlb_crop_box box = dlb_crop_random_resized(500, 375, &rng);
        struct dlb_crop_box same = dlb_crop_random_resized(500, 375, &again);
        assert_true(box.x == same.x && box.y == same.y && box.width == same.width);
        assert_true(box.x >= 0 && box.y >= 0 && box.x + box.width <= 500 &&
                    box.y + box.height <= 375);
        double area = box.width * box.height / (500 * 375), ratio = box.width / box.height;
        assert_true(area > 0.078 && area <= 1.0);
        assert_true(ratio > 0.73 && ratio < 1.36);
        area_sum += area;
        left = fmin(left, box.x);
        right = fmax(right, box.x + box.width);
        n_flip += box.flip;
    }
    /* Boxes that do not fit are drawn again, which takes large ones away: the mean is 0.433, not
     * 0.54. */
    assert_true(fabs(area_sum / 4000 - 0.433) < 0.015);
    assert_true(left < 3 && right > 497);
    assert_in_range(n_flip, 1850, 2150);
    for (uint64_t i = 0; i < 200; i++) { /* nothing fits: the central fallback */
        struct dlb_rng rng = dlb_rng_seed(9, 1, i);
        struct dlb_crop_box box = dlb_crop_random_resized(3000, 20, &rng);
        assert_true(box.x + box.width <= 3000 && box.y + box.height <= 20);
        assert_true(box.width <= 27);
        rng = dlb_rng_seed(9, 2, i);
        box = dlb_crop_random_resized(1, 1, &rng);
        assert_true(box.x == 0 && box.y == 0 && box.width == 1 && box.height == 1);
    }
}

static void test_center_crop(void **state)
{
    (void)state;
    struct dlb_crop_resized crop = dlb_crop_center(500, 375, 224);
    assert_int_equal(crop.width, 341);
    assert_int_equal(crop.height, 256);
    assert_int_equal(crop.x, 58); /* round((341 - 224) / 2) to even */
    assert_int_equal(crop.y, 16);
    assert_false(crop.flip);
}

/* A resized side beyond 32 bits. */
static void test_long_image(void **state)
{
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);

    (void)state;
    struct dlb_crop_resized crop = dlb_crop_center(1000000, 1, 4096);
    assert_true(crop.width == 4681 * UINT64_C(1000000));
    assert_true(crop.height == 4681);
    assert_true(crop.x == (crop.width - 4096) / 2);
    assert_true(crop.y == 292); /* round(292.5) to even */
    crop = dlb_crop_random(1, 1000000, 4096, &rng);
    assert_true(crop.width == 4681);
    assert_true(crop.height == 4681 * UINT64_C(1000000));
    assert_true(crop.y <= crop.height - 4096);
    assert_true(crop.x <= 4681 - 4096);
}

static void test_room(void **state)
{
    struct dlb_transform_opts opts = {.crop = DLB_CROP_CENTER, .size = 8};
    struct dlb_bytes jpeg = {0};
    uint8_t out[8 * 8 * 3];
    size_t len;

    (void)state;
    jpeg_load("photo-420.jpg", &jpeg);
    void *codec_state = jpeg_open(&opts);
    assert_int_equal(jpeg_decode(codec_state, &jpeg, 0), DLB_OK);
    assert_int_equal(jpeg_codec()->transform(codec_state, out, sizeof out - 1, &len, &jpeg_err),
                     DLB_E_FORMAT);
    assert_int_equal(jpeg_codec()->transform(codec_state, out, sizeof out, &len, &jpeg_err),
                     DLB_OK);
    assert_int_equal(len, sizeof out);
    jpeg_close(codec_state);
    opts.crop = DLB_CROP_NONE;
    codec_state = jpeg_open(&opts);
    assert_int_equal(jpeg_decode(codec_state, &jpeg, 0), DLB_OK);
    assert_int_equal(jpeg_codec()->transform(codec_state, out, sizeof out, &len, &jpeg_err),
                     DLB_E_FORMAT);
    assert_int_equal(jpeg_err.code, DLB_ERR_SAMPLE_EXCEEDS_SLOT);
    assert_non_null(strstr(jpeg_err.what, "24 x 20"));
    jpeg_close(codec_state);
    dlb_bytes_free(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resampling_is_exact),
        cmocka_unit_test(test_scaled_decode),
        cmocka_unit_test(test_whole_decode),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_flip_mirrors),
        cmocka_unit_test(test_random_resized_crop),
        cmocka_unit_test(test_center_crop),
        cmocka_unit_test(test_long_image),
        cmocka_unit_test(test_room),
    };
    if (jpeg_codec()->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
