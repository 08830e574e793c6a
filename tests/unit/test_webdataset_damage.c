/* formats/webdataset: shards that are cut, damaged, or not tar archives. */
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

static void make_three(void)
{
    char content[700];
    memset(content, 'x', sizeof content - 1);
    content[sizeof content - 1] = '\0';
    start();
    file("a.jpg", content); /* header 0, data 512..1211, next header at 1536 */
    file("b.jpg", content); /* header 1536, data 2048.. */
    file("c.jpg", content); /* header 3072, data 3584..4283, end at 4608 */
    finish("s.tar");
}

/* A shard cut anywhere: whole samples before the cut are read, then comes an error with path and
 * offset, or, for a cut between two members, an oddity. */
static void test_cut(void **state)
{
    static const struct {
        size_t at;
        unsigned n_samples;
        bool error;
    } cuts[] = {{4000, 2, true}, {3585, 2, true},  {3584, 2, true}, {3400, 1, true},
                {3073, 1, true}, {3072, 2, false}, {2100, 1, true}, {1600, 0, true},
                {1000, 0, true}, {100, 0, true},   {0, 0, true},    {4608, 3, false},
                {4283, 2, true}, {4300, 2, true}};
    struct dlb_dataset ds;
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        make_three();
        folder_cut("s.tar", cuts[i].at);
        int rc = dataset_open(&ds, "webdataset", "raw", folder, &err);
        if (cuts[i].n_samples == 0) {
            assert_int_equal(rc, DLB_E_FORMAT);
            assert_string_equal(err.path, folder_path("s.tar"));
            continue;
        }
        assert_int_equal(rc, DLB_OK);
        assert_int_equal(ds.shape.n_odd, 1);
        assert_non_null(strstr(ds.shape.odd[0], "s.tar"));
        err = (struct dlb_err){0};
        rc = read_shard(&ds, 0, text, sizeof text, NULL);
        unsigned n_read = 0;
        for (const char *p = text; *p; p++)
            n_read += *p == '|';
        if (cuts[i].error) {
            assert_int_equal(rc, DLB_E_FORMAT);
            assert_string_equal(err.path, folder_path("s.tar"));
            assert_true(err.offset_bytes <= cuts[i].at + 512);
        } else {
            assert_int_equal(rc, DLB_END);
        }
        if (n_read != cuts[i].n_samples || ds.shape.n_samples != cuts[i].n_samples)
            fail_msg("cut at %zu: listed %u, read %u, expected %u", cuts[i].at,
                     (unsigned)ds.shape.n_samples, n_read, cuts[i].n_samples);
        dlb_dataset_close(&ds);
    }
}

static void test_damaged_header(void **state)
{
    struct dlb_dataset ds;
    char text[4096];

    (void)state;
    make_three();
    ball.bytes[3072 + 10] ^= 0x20;
    folder_write("s.tar", ball.bytes, ball.len);
    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, 1); /* b's end is c's header */
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, NULL), DLB_E_FORMAT);
    assert_true(err.offset_bytes != DLB_NO_OFFSET);
    dlb_dataset_close(&ds);
}

/* The next shard is not affected. */
static void test_after_an_error(void **state)
{
    struct dlb_dataset ds;
    struct dlb_sample sample;

    (void)state;
    make_three();
    folder_cut("s.tar", 3400);
    start();
    file("x.jpg", "X");
    finish("t.tar");
    open_shards(&ds);
    void *reader = dataset_reader(&ds);
    struct dlb_dest none = {NULL, 0};
    assert_int_equal(ds.format->reader->shard_open(reader, 0, &err), DLB_OK);
    assert_int_equal(ds.format->reader->next(reader, none, &sample, &err), DLB_OK);
    assert_int_equal(ds.format->reader->next(reader, none, &sample, &err), DLB_E_FORMAT);
    assert_int_equal(ds.format->reader->next(reader, none, &sample, &err), DLB_END);
    assert_int_equal(ds.format->reader->shard_open(reader, 1, &err), DLB_OK);
    assert_int_equal(ds.format->reader->next(reader, none, &sample, &err), DLB_OK);
    assert_int_equal(sample.index, 1);
    assert_memory_equal(sample.field[0].data, "X", 1);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_not_tar(void **state)
{
    struct dlb_dataset ds;
    static const uint8_t gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3,
                                   3,    0,    0, 0, 0, 0, 0, 0, 0, 0};

    (void)state;
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_EMPTY);
    folder_write("s.tar.xz", gzip, sizeof gzip);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SHARD_COMPRESSION_UNKNOWN);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("s.tar.xz"), &err),
                     DLB_E_FORMAT);
    assert_string_equal(err.path, folder_path("s.tar.xz"));
    folder_write("t.tar", gzip, sizeof gzip); /* compressed, though not by its name */
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder, &err), DLB_E_FORMAT);
    assert_string_equal(err.path, folder_path("t.tar"));
    start();
    file("a.jpg", "A");
    finish("t.tar");
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("t.tar"), &err), DLB_OK);
    assert_int_equal(ds.shape.n_shards, 1);
    assert_int_equal(ds.shape.n_odd, 0);
    dlb_dataset_close(&ds);
    open_shards(&ds);
    assert_int_equal(ds.shape.n_odd, 1);
    assert_memory_equal(ds.shape.odd[0], "1 archive", 9);
    dlb_dataset_close(&ds);
    assert_int_equal(dlb_format_by_name("webdataset")->probe(folder, &dlb_io_posix), 90);
}

static void test_bad_samples(void **state)
{
    struct dlb_dataset ds;
    char name[32], text[4096];

    (void)state;
    start();
    file("a.jpg", "A");
    file("b.jpg", "B");
    file("b.JPG", "B");
    finish("s.tar");
    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, 1);
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, NULL), DLB_E_FORMAT);
    assert_string_equal(text, "jpg=A;|");
    assert_int_equal(err.code, DLB_ERR_TAR_FIELD_TWICE);
    assert_int_equal(err.offset_bytes, 2048);
    dlb_dataset_close(&ds);
    start();
    file("a.jpg", "A");
    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "b.f%d", i);
        file(name, "x");
    }
    finish("s.tar");
    open_shards(&ds);
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, NULL), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_TAR_TOO_MANY_FIELDS);
    assert_non_null(strstr(err.what, "sample b "));
    dlb_dataset_close(&ds);
}

static void test_manifest_is_not_believed_blindly(void **state)
{
    struct generation g;
    struct dlb_dataset ds;
    char target[512];
    static char text[1 << 20];

    (void)state;
    (void)snprintf(target, sizeof target, "%s/data", folder);
    generation_set(&g, "webdataset", "raw", target, 20, 700);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    folder_cut("data/shard-000000.tar", 20000);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", target, &err), DLB_OK);
    assert_true(ds.shape.n_samples < 20);
    assert_true(ds.shape.n_odd >= 2);
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, NULL), DLB_E_FORMAT);
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_cut),
        IN_FOLDER(test_damaged_header),
        IN_FOLDER(test_after_an_error),
        IN_FOLDER(test_not_tar),
        IN_FOLDER(test_bad_samples),
        IN_FOLDER(test_manifest_is_not_believed_blindly),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
