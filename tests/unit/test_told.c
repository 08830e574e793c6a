/* What a child process tells of a data set is checked: each figure, alone, and whole answers of a
 * child that lies, as one that a hostile file has taken over may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/experiment/subject.h"
#include "bench/verbs/inspect.h"
#include "core/base/told.h"
#include "formats/shape.h"
#include "scenarios/spec/spec.h"
#include "tests/support/error.h"
#include "tests/support/folder.h"
#include "tests/support/dataset.h"
#include "tests/support/hdf5.h"
#include "tests/support/lie.h"

static void errors(void **state)
{
    (void)state;
    struct dlb_err err = {.status = DLB_OK}, told;
    assert_true(dlb_told_err(&err));
    (void)dlb_fail(&err, DLB_ERR_TAR_DAMAGED, "a", 1, "b");
    assert_true(dlb_told_err(&err));
    for (size_t i = 0; i < sizeof of_an_error / sizeof *of_an_error; i++) {
        told = err;
        tell(&told, &of_an_error[i]);
        assert_false(dlb_told_err(&told));
    }
}

static const struct lie of_a_shape[] = {
    LIE(struct dlb_shape, n_samples, 0),   LIE(struct dlb_shape, element, DLB_ELEMENT_F64 + 1),
    LIE(struct dlb_shape, iterable, 2),    LIE(struct dlb_shape, odd[0], 'x'),
    LIE(struct dlb_shape, odd[15], 'x'),   LIE(struct dlb_shape, library, 'x'),
    LIE(struct dlb_shape, undecoded, 'x'), LIE(struct dlb_shape, about, 'x'),
    LIE(struct dlb_shape, n_shards, 0),
};

static void shapes(void **state)
{
    (void)state;
    const struct dlb_shape shape = {.n_samples = 1, .n_shards = 1, .iterable = true};
    struct dlb_shape told;
    assert_true(dlb_shape_makes_sense(&shape));
    for (size_t i = 0; i < sizeof of_a_shape / sizeof *of_a_shape; i++) {
        told = shape;
        tell(&told, &of_a_shape[i]);
        assert_false(dlb_shape_makes_sense(&told));
    }
}

#define SEEN(member, value) LIE(struct dlb_seen, member, value)
static const struct lie of_the_seen[] = {
    SEEN(n_looked, DLB_INSPECT_SAMPLES + 1),
    SEEN(n_looked, UINT32_MAX),
    SEEN(n_bad, UINT32_MAX),
    SEEN(n_bad, 1), /* and no error */
    SEEN(n_images, DLB_INSPECT_SAMPLES + 1),
    SEEN(n_raw_images, DLB_INSPECT_SAMPLES + 1),
    SEEN(clips.n, DLB_MAX_CLIPS + 1),
    SEEN(clips.n, UINT32_MAX),
    SEEN(n_fields, DLB_MAX_FIELDS + 1),
    SEEN(fields[0], 'x'),
    SEEN(fields[DLB_MAX_FIELDS - 1], 'x'),
    SEEN(first.path, 'x'),
    SEEN(undecoded, 'x'),
    SEEN(n_unfit_labels, DLB_INSPECT_SAMPLES + 1),
    SEEN(unfit_label, 'x'),
    SEEN(first_bad.code, DLB_N_CODES),
    SEEN(first_bad.path, 'x'),
    SEEN(first_bad.what, 'x'),
    SEEN(first_bad.status, DLB_E_IO), /* and nothing is bad */
};

/* Of an image and a clip, which the lying child below has none of. */
static const struct lie of_the_heard[] = {
    SEEN(width[0], UINT32_C(1) << 31),
    SEEN(height[0], UINT32_MAX),
    SEEN(clips.rate_hz[0], 0),
    SEEN(clips.rate_hz[0], UINT32_MAX),
    SEEN(clips.n_channels[0], 0),
    SEEN(clips.n_channels[0], UINT32_MAX),
    SEEN(clips.n_frames[0], UINT64_MAX),
    SEEN(clips.seconds[0], UINT64_MAX),                   /* not a number */
    SEEN(clips.seconds[0], UINT64_C(0x7ff0000000000000)), /* infinite */
    SEEN(clips.seconds[0], UINT64_C(0xbff0000000000000)), /* -1 */
};

static void sights(void **state)
{
    (void)state;
    static struct dlb_seen seen, told;
    seen = (struct dlb_seen){.n_looked = DLB_INSPECT_SAMPLES, .n_images = 1};
    seen.clips = (struct dlb_clips){
        .n = 1, .rate_hz = {8000}, .n_channels = {1}, .n_frames = {8}, .seconds = {0.001}};
    assert_true(dlb_seen_makes_sense(&seen));
    for (size_t i = 0; i < sizeof of_the_seen / sizeof *of_the_seen; i++) {
        told = seen;
        tell(&told, &of_the_seen[i]);
        assert_false(dlb_seen_makes_sense(&told));
    }
    for (size_t i = 0; i < sizeof of_the_heard / sizeof *of_the_heard; i++) {
        told = seen;
        tell(&told, &of_the_heard[i]);
        assert_false(dlb_seen_makes_sense(&told));
    }
}

#define ABOUT(member, value) LIE(struct dlb_hdf5_about, member, value)
static const struct lie of_hdf5[] = {
    ABOUT(rank, 0),
    ABOUT(rank, DLB_HDF5_MAX_RANK + 1),
    ABOUT(layout, DLB_HDF5_ELSEWHERE + 1),
    ABOUT(layout, UINT32_MAX),
    ABOUT(index, DLB_HDF5_BTREE_2 + 1),
    ABOUT(index, UINT32_MAX),
    ABOUT(element, DLB_ELEMENT_F64 + 1),
    ABOUT(element, DLB_ELEMENT_F64), /* of 8 bytes */
    ABOUT(element_bytes, 0),
    ABOUT(element_bytes, 8), /* which a u8 has not */
    ABOUT(n_filters, DLB_HDF5_MAX_FILTERS + 1),
    ABOUT(n_sampled, DLB_HDF5_MAX_SAMPLED + 1),
    ABOUT(n_listed, DLB_HDF5_MAX_LISTED + 1),
    ABOUT(n_labels, N - 1), /* a sample without a label */
    ABOUT(n_labels, N + 1),
    ABOUT(n_labels, UINT64_MAX),
    ABOUT(n_offsets, N + 1), /* ragged samples of rows */
    ABOUT(n_offsets, UINT64_MAX),
    ABOUT(dataset, 'x'),
    ABOUT(chunk[1], 0),
    ABOUT(search_ended, 2),
    ABOUT(fills, 2),
    ABOUT(fill_too_large, 2),
    ABOUT(plain_edges, 0xff),
    ABOUT(label_refused, 2),
};

static void hdf5(void **state)
{
    (void)state;
    static struct dlb_hdf5_about about, told;
    about = (struct dlb_hdf5_about){.dataset = "/a",
                                    .layout = DLB_HDF5_CHUNKED,
                                    .rank = 2,
                                    .dims = {N, EACH},
                                    .chunk = {1, EACH},
                                    .element = DLB_ELEMENT_U8,
                                    .element_bytes = 1,
                                    .n_labels = N};
    assert_true(dlb_hdf5_about_makes_sense(&about));
    for (size_t i = 0; i < sizeof of_hdf5 / sizeof *of_hdf5; i++) {
        told = about;
        tell(&told, &of_hdf5[i]);
        assert_false(dlb_hdf5_about_makes_sense(&told));
    }
    about.rank = 1; /* ragged */
    about.n_offsets = N + 1;
    assert_true(dlb_hdf5_about_makes_sense(&about));
    about.n_offsets = 1;
    assert_false(dlb_hdf5_about_makes_sense(&about));
}

/* As many labels as the child sends, and fewer than there are samples. */
static void opening(void **state)
{
    (void)state;
    struct hdf5_set set;
    make("hdf5", "raw");
    assert_int_equal(hdf5_open_path(&set, folder_path("g"), DLB_ACCESS_LIBRARY, NULL), DLB_OK);
    bool labelled = set.ds.shape.n_classes > 0;
    dlb_dataset_close(&set.ds);
    static const struct lie lies[] = {ABOUT(n_labels, N - 1), ABOUT(dims[0], N + 1)};
    for (size_t i = 0; i < 2 && labelled; i++) {
        now = lies[i];
        assert_int_equal(hdf5_open_path(&set, folder_path("g"), DLB_ACCESS_LIBRARY, NULL),
                         DLB_E_FORMAT);
        error_is(&set.err, DLB_ERR_CHILD_GAVE_UP, "");
    }
    assert_true(labelled);
}

static const struct lie of_tries[] = {
    LIE(struct dlb_tries, n, UINT32_MAX),       LIE(struct dlb_tries, n_decoded, UINT32_MAX),
    LIE(struct dlb_tries, n_other, UINT32_MAX), LIE(struct dlb_tries, n_broken, UINT32_MAX),
    LIE(struct dlb_tries, first.what, 'x'),     LIE(struct dlb_tries, first.code, DLB_N_CODES),
};

static int inspect(struct dlb_inspected *in, struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    assert_non_null(cfg);
    assert_int_equal(dlb_config_set(cfg, "dataset.access=library", err), DLB_OK);
    int rc = dlb_inspect(folder_path("g"), cfg, in, err);
    dlb_config_free(cfg);
    return rc;
}

static void inspecting(void **state)
{
    (void)state;
    static struct dlb_inspected in;
    static const struct {
        const struct lie *lies;
        size_t n;
    } all[] = {{of_the_seen, sizeof of_the_seen / sizeof *of_the_seen},
               {of_tries, sizeof of_tries / sizeof *of_tries}};
    struct dlb_err err;
    make("hdf5", "raw");
    assert_int_equal(inspect(&in, &err), DLB_OK);
    assert_int_equal(in.seen.n_looked, DLB_INSPECT_SAMPLES);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (size_t i = 0; i < all[k].n; i++) {
            now = all[k].lies[i];
            assert_int_equal(inspect(&in, &err), DLB_E_FORMAT);
            error_is(&err, DLB_ERR_CHILD_GAVE_UP, "");
        }
}

/* How large samples become. */
static void decoding(void **state)
{
    (void)state;
    struct dlb_dataset_opts own = {.format = dataset_place(dlb_format_names, "hdf5"),
                                   .codec = dataset_place(dlb_codec_names, "zstd"),
                                   .access = DLB_ACCESS_LIBRARY};
    const struct dlb_transform_opts transform = {.size = 32};
    struct dlb_dataset ds;
    struct dlb_err err;
    make("hdf5", "zstd");
    (void)snprintf(own.path, sizeof own.path, "%s", folder_path("g"));
    assert_int_equal(dlb_dataset_open(&ds, &own, &transform, NULL, NULL, &err), DLB_OK);
    assert_true(ds.shape.max_decoded_bytes >= EACH);
    dlb_dataset_close(&ds);
    now = (struct lie){sizeof(uint64_t), 0, UINT64_MAX, sizeof(uint64_t)};
    assert_int_equal(dlb_dataset_open(&ds, &own, &transform, NULL, NULL, &err), DLB_E_FORMAT);
    error_is(&err, DLB_ERR_CHILD_GAVE_UP, "");
}

static int look(struct dlb_subject *out, struct dlb_err *err)
{
    char path[600];
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    (void)snprintf(path, sizeof path, "dataset.path=%s", folder_path("g"));
    *out = (struct dlb_subject){.own = NULL};
    assert_int_equal(dlb_config_set(cfg, "dataset.format=webdataset", err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, "dataset.codec=raw", err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, path, err), DLB_OK);
    const struct dlb_scenario *scenario = dlb_scenario_by_name("run");
    assert_non_null(scenario);
    assert_int_equal(dlb_subject_spec(cfg, scenario, out, err), DLB_OK);
    int rc = dlb_subject_look(scenario, out, NULL, NULL, err);
    dlb_config_free(cfg);
    free(out->shard_samples);
    return rc;
}

static void planning(void **state)
{
    (void)state;
    static struct dlb_subject subject;
    struct dlb_err err;
    make("webdataset", "raw");
    assert_int_equal(look(&subject, &err), DLB_OK);
    assert_int_equal(subject.shape.n_samples, N);
    assert_int_equal(subject.shape.n_shards, 1);
    assert_int_equal(subject.min_shard_samples, N);
    for (size_t i = 0; i < sizeof of_a_shape / sizeof *of_a_shape; i++) {
        now = of_a_shape[i];
        assert_int_equal(look(&subject, &err), DLB_E_FORMAT);
        error_is(&err, DLB_ERR_CHILD_GAVE_UP, "");
    }
    now = (struct lie)LIE(struct dlb_shape, n_samples, N - 1); /* fewer than its shard has */
    assert_int_equal(look(&subject, &err), DLB_E_FORMAT);
    error_is(&err, DLB_ERR_CHILD_GAVE_UP, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(errors),  TEST(shapes),     TEST(sights),   TEST(hdf5),
        TEST(opening), TEST(inspecting), TEST(decoding), TEST(planning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
