/* formats/codecs/codec_image and formats/undecoded: images that are cut short, damaged or too
 * large, what is no image, and what gen makes. The pixels are compared in
 * contract/test_image_peers. */
#include "formats/codecs/image.h"
#include "formats/undecoded.h"
#include "tests/support/one_sample.h"

static int decode(const char *codec_name, const char *field, const uint8_t *data, size_t n_bytes)
{
    const struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .max_decoded_bytes = 1 << 20};

    return one_sample(codec_name, &opts, field, data, n_bytes, 3, NULL);
}

static void refused(const char *name, enum dlb_code code)
{
    size_t n_bytes;
    uint8_t *data = corpus_load("image", name, &n_bytes);
    if (strstr(name, ".webp") && !strstr(dlb_codec_by_name("image")->summary, "WebP"))
        code = DLB_ERR_IMAGE_UNKNOWN;
    assert_refused(decode("image", "png", data, n_bytes), name, code);
    free(data);
}

static void test_damaged(void **state)
{
    (void)state;
    refused("cut.png", DLB_ERR_PNG_CUT_SHORT);
    refused("crc.png", DLB_ERR_PNG_DAMAGED);
    refused("short_data.png", DLB_ERR_PNG_DAMAGED);
    refused("huge.png", DLB_ERR_PNG_TOO_LARGE);
    refused("cut.webp", DLB_ERR_WEBP_CUT_SHORT);
}

/* A colour profile of megabytes in a few bytes is not unpacked. */
static void test_profile_is_skipped(void **state)
{
    size_t n_bytes;
    uint8_t *data = corpus_load("image", "iccp.png", &n_bytes);
    (void)state;
    assert_int_equal(decode("image", "png", data, n_bytes), DLB_OK);
    free(data);
}

static void test_no_image(void **state)
{
    static const uint8_t video[] = "\0\0\0\x18"
                                   "ftypmp42 and so on";
    (void)state;
    assert_int_equal(decode("image", "bin", (const uint8_t *)"junk", 4), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_IMAGE_UNKNOWN);
    assert_int_equal(decode("image", "bin", video, 0), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_IMAGE_UNKNOWN);
    assert_int_equal(decode("image", "mp4", video, sizeof video), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_NOT_DECODED);
    assert_non_null(strstr(err.what, "MP4 video"));
    if (dlb_codec_by_name("jpeg")->missing)
        return;
    assert_int_equal(decode("jpeg", "mp4", video, sizeof video), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_NOT_DECODED);
}

static void test_made(void **state)
{
    const struct dlb_codec *codec = dlb_codec_by_name("image");
    struct dlb_generate_opts opts = {.samples = 9, .sample_bytes = 20000, .seed = 3};
    struct dlb_bytes image = {0};
    (void)state;
    opts.image = DLB_IMAGE_PNG;
    double sum = 0;
    for (uint64_t i = 0; i < 9; i++, image.len_bytes = 0) {
        assert_int_equal(codec->make(&opts, i, &image, &err), DLB_OK);
        assert_int_equal(dlb_image_kind(image.data, image.len_bytes), DLB_IMAGE_PNG);
        assert_string_equal(dlb_codec_extension(codec, &opts, i), "png");
        assert_int_equal(decode("image", "png", image.data, image.len_bytes), DLB_OK);
        sum += (double)image.len_bytes / 9;
    }
    assert_true(sum > 12000 && sum < 32000);
    opts.image = DLB_IMAGE_UNKNOWN;
    assert_string_equal(dlb_codec_extension(codec, &opts, 0), "jpg");
    assert_string_equal(dlb_codec_extension(codec, &opts, 5), "webp");
    dlb_bytes_free(&image);
}

static void test_undecoded(void **state)
{
    static const uint8_t json[] = "{\"a\": 1}";
    struct dlb_sample sample = {.n_fields = 2, .path = "a.tar"};
    (void)state;
    assert_string_equal(dlb_undecoded_kind("a.jsonl", json, 8), "text");
    assert_null(dlb_undecoded_kind("a.bin", json, 8));
    assert_null(dlb_undecoded_kind("a.txt", (const uint8_t *)"a\0b", 3));
    assert_string_equal(dlb_undecoded_kind("a.bin", (const uint8_t *)"PAR1 ", 5), "Parquet files");
    assert_string_equal(dlb_undecoded_name("clip.MOV"), "QuickTime video");
    assert_null(dlb_undecoded_name("data.bin"));
    assert_null(dlb_undecoded_name(""));
    sample.field[0] = (struct dlb_field){.data = json, .len_bytes = 8, .name = "json"};
    sample.field[1] = (struct dlb_field){.data = json, .len_bytes = 8, .name = "npy"};
    assert_null(dlb_undecoded_sample(&sample));
    sample.field[1].name = "cls";
    assert_string_equal(dlb_undecoded_sample(&sample), "text");
    sample.field[1] =
        (struct dlb_field){.data = (const uint8_t *)"fLaC", .len_bytes = 4, .name = "flac"};
    assert_string_equal(dlb_undecoded_sample(&sample), "FLAC audio");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged),   cmocka_unit_test(test_profile_is_skipped),
        cmocka_unit_test(test_no_image),  cmocka_unit_test(test_made),
        cmocka_unit_test(test_undecoded),
    };
    if (dlb_codec_by_name("image")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
