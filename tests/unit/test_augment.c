/* transform.where: worker and device together give, bit for bit, what a worker alone gives. */
#include "tests/support/jpeg.h"

#include "formats/codecs/augment.h"
#include "formats/codecs/crop.h"
#include "formats/dataset.h"

static uint8_t *room(size_t n_bytes)
{
    uint8_t *made = malloc(n_bytes);
    assert_non_null(made);
    return made;
}

/* One image both ways, and the place that was stored with it. */
static struct dlb_augment_place compare(struct dlb_transform_opts opts,
                                        const struct dlb_bytes *jpeg, uint64_t draw)
{
    struct dlb_augment how;
    struct dlb_augment_place place;
    size_t len_cpu, len_gpu;

    opts.pixels = DLB_PIXELS_F32;
    opts.where = DLB_WHERE_CPU;
    uint8_t *want = jpeg_run(&opts, jpeg, draw, &len_cpu);
    opts.where = DLB_WHERE_GPU;
    uint8_t *delivered = jpeg_run(&opts, jpeg, draw, &len_gpu);
    assert_int_equal(jpeg_codec()->augment(&opts, NULL, &how, &jpeg_err), DLB_OK);
    assert_int_equal(how.kind, DLB_AUGMENT_IMAGE);
    assert_int_equal(len_gpu, how.in_bytes);
    assert_int_equal(len_cpu, how.out_bytes);
    uint8_t *made = room(how.out_bytes);
    dlb_augment_run(&how, delivered, made);
    if (memcmp(made, want, len_cpu) != 0)
        fail_msg("crop %d, size %d, draw %d", opts.crop, (int)opts.size, (int)draw);
    memcpy(&place, delivered + how.place_at, sizeof place);
    free(want);
    free(delivered);
    free(made);
    return place;
}

static void images_are_the_same_on_either_side(void **state)
{
    static const char *const names[] = {"photo-420.jpg", "photo-444.jpg", "grey.jpg",
                                        "one-pixel.jpg"};
    static const int crops[] = {DLB_CROP_RANDOM_RESIZED, DLB_CROP_CENTER, DLB_CROP_RANDOM};
    struct dlb_bytes jpeg = {0};

    (void)state;
    if (jpeg_codec()->missing)
        skip();
    for (size_t i = 0; i <= sizeof names / sizeof *names; i++) {
        unsigned n_flipped = 0, n_places = 0;
        if (i < sizeof names / sizeof *names)
            jpeg_load(names[i], &jpeg);
        else
            jpeg_make_photo(&jpeg, 3, 20000);
        for (size_t c = 0; c < 3; c++)
            for (uint64_t draw = 0; draw < 24; draw++) {
                struct dlb_transform_opts opts = {.crop = crops[c],
                                                  .size = (int64_t)(7 + 13 * (draw % 5)),
                                                  .flip = true,
                                                  .scaled_decode = draw & 1};
                struct dlb_augment_place place = compare(opts, &jpeg, draw);
                if (crops[c] == DLB_CROP_RANDOM_RESIZED)
                    assert_true(place.x == 0 && place.y == 0);
                n_flipped += place.flip;
                n_places += crops[c] == DLB_CROP_RANDOM && place.x != place.y;
            }
        assert_in_range(n_flipped, 8, 40); /* of 48 that may be flipped */
        if (i == 0)
            assert_true(n_places > 4);
        dlb_bytes_free(&jpeg);
        jpeg = (struct dlb_bytes){0};
    }
}

/* RandomCrop covers all of the resized image, also where it is long. */
static void random_crops_lie_all_over(void **state)
{
    uint64_t most_x = 0, least_x = UINT32_MAX;

    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        struct dlb_rng rng = dlb_rng_seed(2, 0, i);
        struct dlb_crop_resized crop = dlb_crop_random(600, 300, 224, &rng);
        assert_int_equal(crop.width, 512);
        assert_int_equal(crop.height, 256);
        assert_true(crop.x <= 512 - 224 && crop.y <= 256 - 224);
        most_x = crop.x > most_x ? crop.x : most_x;
        least_x = crop.x < least_x ? crop.x : least_x;
    }
    assert_true(least_x < 6 && most_x > 282);
}

static void a_known_image(void **state)
{
    struct dlb_augment how = dlb_augment_image(3, 2);
    struct dlb_augment_place place = {.x = 1, .y = 0, .flip = 1};
    float made[12];

    (void)state;
    assert_int_equal(how.place_at, 32);
    assert_int_equal(how.in_bytes, 40);
    assert_int_equal(how.out_bytes, sizeof made);
    uint8_t in[40] = {0};
    for (uint8_t i = 0; i < 27; i++)
        in[i] = i;
    memcpy(in + how.place_at, &place, sizeof place);
    dlb_augment_run(&how, in, (uint8_t *)made);
    /* Row 0, columns 2 then 1; row 1 likewise. */
    static const uint8_t red[] = {6, 3, 15, 12};
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t i = 0; i < 4; i++)
            assert_true(made[4 * c + i] ==
                        dlb_normalise((uint8_t)(red[i] + c), how.scale[c], how.shift[c]));
}

static void tokens_are_the_same_on_either_side(void **state)
{
    const struct dlb_codec *codec = dlb_codec_by_name("tokens");
    const uint16_t stored[] = {1, 65535, 7, 300, 0};
    const int64_t want[] = {1, 65535, 7, 300, 65535, 7, 300, 0};
    struct dlb_shape shape = {.max_sample_bytes = sizeof stored, .element = DLB_ELEMENT_U16};
    struct dlb_sample sample = {
        .field = {{.data = (const uint8_t *)stored, .len_bytes = sizeof stored, .name = "jpg"}},
        .n_fields = 1,
        .element = DLB_ELEMENT_U16};

    (void)state;
    for (int where = DLB_WHERE_CPU; where <= DLB_WHERE_GPU; where++) {
        struct dlb_transform_opts opts = {.where = where};
        void *cd = calloc(1, codec->state_bytes);
        size_t cap = codec->max_output_bytes(&opts, &shape), len = 0;
        uint8_t *out = room(cap);
        struct dlb_err err;
        assert_non_null(cd);
        assert_int_equal(codec->open(cd, &opts, &err), DLB_OK);
        assert_int_equal(codec->decode(cd, &sample, dlb_rng_seed(0, 0, 0), &err), DLB_OK);
        assert_int_equal(codec->transform(cd, out, cap, &len, &err), DLB_OK);
        assert_int_equal(len, cap);
        if (where == DLB_WHERE_GPU) {
            struct dlb_augment how;
            int64_t made[8];
            assert_int_equal(codec->augment(&opts, &shape, &how, &err), DLB_OK);
            assert_int_equal(len, how.in_bytes);
            assert_memory_equal(out, stored, sizeof stored);
            dlb_augment_run(&how, out, (uint8_t *)made);
            assert_memory_equal(made, want, sizeof want);
        } else {
            assert_memory_equal(out, want, sizeof want);
        }
        codec->close(cd);
        free(cd);
        free(out);
    }
    struct dlb_augment how;
    struct dlb_err err;
    shape.element = DLB_ELEMENT_F32;
    assert_int_equal(codec->augment(&(struct dlb_transform_opts){0}, &shape, &how, &err),
                     DLB_E_FORMAT);
}

static void options_without_work_for_a_device_are_refused(void **state)
{
    const struct dlb_format *files = dlb_format_by_name("files"),
                            *synthetic = dlb_format_by_name("synthetic");
    struct dlb_transform_opts opts = {.where = DLB_WHERE_GPU, .size = 8, .pixels = DLB_PIXELS_F32};
    struct dlb_err err;
    size_t n = 0;

    (void)state;
    assert_int_equal(dlb_codec_check_where(dlb_codec_by_name("raw"), files, &opts, &err),
                     DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_TRANSFORM_WHERE_UNFIT);
    assert_non_null(strstr(err.what, " raw"));
    if (!jpeg_codec()->missing) {
        assert_int_equal(dlb_codec_check_where(jpeg_codec(), files, &opts, &err), DLB_OK);
        assert_int_equal(dlb_codec_check_where(jpeg_codec(), synthetic, &opts, &err), DLB_E_CONFIG);
        opts.crop = DLB_CROP_NONE;
        assert_int_equal(dlb_codec_check_where(jpeg_codec(), files, &opts, &err), DLB_E_CONFIG);
        opts.crop = DLB_CROP_CENTER;
        opts.pixels = DLB_PIXELS_U8;
        assert_int_equal(dlb_codec_check_where(jpeg_codec(), files, &opts, &err), DLB_E_CONFIG);
        assert_int_equal(err.code, DLB_ERR_TRANSFORM_WHERE_UNFIT);
    }
    opts.where = DLB_WHERE_CPU;
    assert_int_equal(dlb_codec_check_where(dlb_codec_by_name("raw"), files, &opts, &err), DLB_OK);
    struct dlb_augment how = dlb_augment_image(4, 4);
    assert_int_equal(dlb_augment_count(&how, 5 * how.in_bytes, &n, &err), DLB_OK);
    assert_int_equal(n, 5);
    assert_int_equal(dlb_augment_count(&how, 5 * how.in_bytes + 1, &n, &err), DLB_E_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_the_same_on_either_side),
        cmocka_unit_test(random_crops_lie_all_over),
        cmocka_unit_test(a_known_image),
        cmocka_unit_test(tokens_are_the_same_on_either_side),
        cmocka_unit_test(options_without_work_for_a_device_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
