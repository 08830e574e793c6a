/* The null source, and what dlb_dataset_open refuses. */
#include "tests/support/dataset.h"
#include "tests/support/folder.h"

static void test_null_source(void **state)
{
    struct dlb_dataset ds;
    struct dlb_err err = {0};
    struct dlb_sample sample = {0};
    uint8_t place[1000], untouched[1000];

    (void)state;
    assert_int_equal(dataset_open(&ds, "synthetic", "raw", "", &err), DLB_OK);
    assert_int_equal(ds.shape.n_samples, 100);
    assert_int_equal(ds.shape.total_bytes, 100000);
    assert_int_equal(ds.max_payload_bytes, 1000);
    void *reader = dataset_reader(&ds);
    memset(place, 0xA5, sizeof place);
    memset(untouched, 0xA5, sizeof untouched);
    assert_int_equal(
        ds.format->reader->read(reader, 42, (struct dlb_dest){place, sizeof place}, &sample, &err),
        DLB_OK);
    assert_ptr_equal(sample.field[0].data, place);
    assert_int_equal(sample.field[0].len_bytes, 1000);
    assert_int_equal(sample.index, 42);
    assert_int_equal(sample.label, 2);
    assert_int_equal(sample.io_bytes, 0);
    assert_memory_equal(place, untouched, sizeof place); /* nothing is written */
    /* Without a large enough place: a block of zeros. */
    assert_int_equal(ds.format->reader->read(reader, 1, (struct dlb_dest){place, sizeof place - 1},
                                             &sample, &err),
                     DLB_OK);
    assert_ptr_not_equal(sample.field[0].data, place);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(sample.field[0].data[i], 0);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

/* The bytes of all samples are a number that results can hold. */
static void test_total_bytes(void **state)
{
    static const struct {
        int64_t samples, sample_bytes;
        bool fits;
    } cases[] = {{INT64_C(1000000000000), 1 << 20, true},
                 {INT64_C(1000000000000), 10000000, false},
                 {INT64_C(1000000000000), 1 << 25, false}};
    struct dlb_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dlb_generate_opts gen = {
            .samples = cases[i].samples, .sample_bytes = cases[i].sample_bytes, .classes = 5};
        const struct dlb_dataset_opts opts = {.format =
                                                  dataset_place(dlb_format_names, "synthetic")};
        const struct dlb_transform_opts transform = {.size = 224};
        struct dlb_dataset ds;
        int rc = dlb_dataset_open(&ds, &opts, &transform, &gen, NULL, &err);
        assert_int_equal(rc, cases[i].fits ? DLB_OK : DLB_E_CONFIG);
        if (rc != DLB_OK) {
            assert_int_equal(err.code, DLB_ERR_GENERATE_SIZE_UNFIT);
            continue;
        }
        assert_true(ds.shape.total_bytes ==
                    (uint64_t)cases[i].samples * (uint64_t)cases[i].sample_bytes);
        dlb_dataset_close(&ds);
    }
}

static void test_refusals(void **state)
{
    struct dlb_dataset ds;
    struct dlb_err err = {0};

    (void)state;
    if (is_built("synthetic", "jpeg")) { /* nothing to decode: the codec is ignored */
        assert_int_equal(dataset_open(&ds, "synthetic", "jpeg", "", &err), DLB_OK);
        assert_true(ds.codec->identity);
        dlb_dataset_close(&ds);
    }
    assert_int_equal(dataset_open(&ds, "files", "raw", "", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_DATASET_PATH_NOT_SET);
    assert_int_equal(dataset_open(&ds, "files", "raw", "/nonexistent/data", &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_NOT_FOUND);
    assert_string_equal(err.path, "/nonexistent/data");
}

static void test_missing_modules_say_so(void **state)
{
    struct dlb_dataset ds;
    struct dlb_err err = {0};

    (void)state;
    for (size_t i = 0; dlb_formats[i]; i++) {
        if (!dlb_formats[i]->missing)
            continue;
        assert_int_equal(dataset_open(&ds, dlb_formats[i]->name, "raw", "/tmp", &err),
                         DLB_E_MISSING);
        assert_non_null(strstr(err.what, dlb_formats[i]->missing));
    }
    for (size_t i = 0; dlb_codecs[i]; i++) {
        if (!dlb_codecs[i]->missing)
            continue;
        assert_int_equal(dataset_open(&ds, "files", dlb_codecs[i]->name, "/tmp", &err),
                         DLB_E_MISSING);
        assert_non_null(strstr(err.what, dlb_codecs[i]->missing));
    }
}

static void test_registries(void **state)
{
    (void)state;
    for (size_t i = 0; dlb_formats[i]; i++) {
        assert_string_equal(dlb_formats[i]->name, dlb_format_names[i]);
        assert_ptr_equal(dlb_format_by_name(dlb_format_names[i]), dlb_formats[i]);
    }
    for (size_t i = 0; dlb_codecs[i]; i++) {
        assert_string_equal(dlb_codecs[i]->name, dlb_codec_names[i]);
        assert_ptr_equal(dlb_codec_by_name(dlb_codec_names[i]), dlb_codecs[i]);
    }
    assert_null(dlb_format_by_name("fils"));
    assert_true(dlb_codec_takes(dlb_codec_by_name("jpeg"), "JpEg"));
    assert_false(dlb_codec_takes(dlb_codec_by_name("jpeg"), "png"));
    assert_true(dlb_codec_takes(dlb_codec_by_name("raw"), "png"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_source), cmocka_unit_test(test_total_bytes),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_missing_modules_say_so),
        cmocka_unit_test(test_registries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
