/* formats/webdataset: what shards hold beside their samples is named; manifests are believed only
 * where they are possible; samples tell their key, and whether they have a label. */
#include "formats/generate/manifest.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

static void expect_odd(uint64_t n_samples, uint32_t n_odd, const char *begin, const char *named)
{
    struct dlb_dataset ds;

    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, n_samples);
    assert_int_equal(ds.shape.n_odd, n_odd);
    if (n_odd &&
        (strncmp(ds.shape.odd[0], begin, strlen(begin)) != 0 || !strstr(ds.shape.odd[0], named)))
        fail_msg("\"%s\" instead of one with \"%s\" and \"%s\"", ds.shape.odd[0], begin, named);
    dlb_dataset_close(&ds);
}

static void test_behind_the_end(void **state)
{
    char named[64];

    (void)state;
    start();
    file("a.jpg", "A");
    finish("s.tar");
    expect_odd(1, 0, "", "");
    memset(ball.bytes + ball.len, 0, 9000);
    ball.len += 9000;
    folder_write("s.tar", ball.bytes, ball.len); /* padded, as by tar -b 20 */
    expect_odd(1, 0, "", "");
    (void)snprintf(named, sizeof named, "s.tar @ %zu", ball.len);
    file("b.jpg", "B");
    finish("s.tar");
    expect_odd(1, 1, "1 ", named);
    for (size_t mark = 1; mark <= 2; mark++) { /* zero blocks */
        start();
        file("a.jpg", "A");
        memset(ball.bytes + ball.len, 0, mark * 512);
        ball.len += mark * 512;
        (void)snprintf(named, sizeof named, "s.tar @ %zu", ball.len);
        file("b.jpg", "B");
        folder_write("s.tar", ball.bytes, ball.len);
        expect_odd(1, 1, "1 ", named);
    }
}

static void test_members_of_no_sample(void **state)
{
    (void)state;
    start();
    file("__meta__", "webdataset's own");
    file("a.jpg", "A");
    file("dir/README", "x");
    file("a.cls", "1"); /* still the same sample */
    file("dir/.hidden", "x");
    (void)put(NULL, "dir", '5', "", 0);
    finish("s.tar");
    expect_odd(1, 2, "2 ", "\"dir/README\" in "); /* and __meta__ */
    start();
    (void)put(NULL, "link", '2', "", 0);
    file("a.jpg", "A");
    finish("s.tar");
    expect_odd(1, 1, "1 ", "");
}

static void test_keys_again(void **state)
{
    (void)state;
    start();
    file("a.jpg", "A");
    file("b.jpg", "B");
    file("c.jpg", "C");
    file("a.cls", "1");
    file("b.cls", "2");
    finish("s.tar");
    expect_odd(5, 1, "2 ", "\"a\" in ");
    start(); /* each shard has keys of its own */
    file("a.jpg", "A");
    finish("s.tar");
    start();
    file("a.jpg", "A");
    finish("t.tar");
    expect_odd(2, 0, "", "");
}

static void test_keys_and_labels(void **state)
{
    static const struct {
        const char *key, *text;
        bool labelled;
    } want[] = {
        {"x/a", "3", true},    {"x/b", NULL, false},        {"x/c", "cat", false},
        {"x/d", " 4\n", true}, {"x/e", "-1", false},        {"x/f", "7 cats", false},
        {"x/g", "", false},    {"x/h", "4294967295", true}, {"x/i", "4294967296", false},
    };
    struct dlb_dataset ds;
    char name[32];

    (void)state;
    start();
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        (void)snprintf(name, sizeof name, "%s.jpg", want[i].key);
        file(name, "image");
        (void)snprintf(name, sizeof name, "%s.cls", want[i].key);
        if (want[i].text)
            file(name, want[i].text);
    }
    finish("s.tar");
    open_shards(&ds);
    void *reader = dataset_reader(&ds);
    assert_int_equal(ds.format->reader->shard_open(reader, 0, &err), DLB_OK);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct dlb_sample sample = {.n_fields = 0};
        assert_int_equal(ds.format->reader->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
                         DLB_OK);
        assert_int_equal(sample.n_key_bytes, strlen(want[i].key));
        assert_memory_equal(sample.key, want[i].key, sample.n_key_bytes);
        assert_int_equal(sample.labelled, want[i].labelled);
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void put_manifest(const char *entry, const char *classes)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"dlbench_manifest\": 1, \"params\": {\"generate.classes\": %s}, "
                     "\"shards\": {\"s.tar\": {\"file_bytes\": %zu%s}}}",
                     classes, ball.len, entry);
    folder_write(DLB_MANIFEST_NAME, text, (size_t)n);
}

static void test_manifests_that_lie(void **state)
{
    static const char *const lies[] = {
        "",
        ", \"samples\": -1, \"bytes\": 4, \"max_sample_bytes\": 3",
        ", \"samples\": 2, \"bytes\": -4, \"max_sample_bytes\": 3",
        ", \"samples\": 2, \"bytes\": 4, \"max_sample_bytes\": -3",
        ", \"samples\": 9223372036854775807, \"bytes\": 4, \"max_sample_bytes\": 3",
        ", \"samples\": 6, \"bytes\": 4, \"max_sample_bytes\": 3", /* 6 headers are too many */
        ", \"samples\": 2, \"bytes\": 4000, \"max_sample_bytes\": 3000",
        ", \"samples\": 2, \"bytes\": 4, \"max_sample_bytes\": 5",
        ", \"samples\": 2, \"bytes\": 4, \"max_sample_bytes\": 1",
        ", \"samples\": 2, \"bytes\": 4, \"max_sample_bytes\": 0",
        ", \"samples\": 0, \"bytes\": 4, \"max_sample_bytes\": 3",
        ", \"samples\": 2.0, \"bytes\": 4, \"max_sample_bytes\": 3",
    };
    struct dlb_dataset ds;

    (void)state;
    start();
    file("a.jpg", "AAA");
    file("b.jpg", "B");
    finish("s.tar");
    assert_true(ball.len / 512 < 7);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        put_manifest(lies[i], "5");
        open_shards(&ds);
        assert_int_equal(ds.shape.n_samples, 2);
        assert_int_equal(ds.shape.total_bytes, 4);
        assert_int_equal(ds.shape.max_sample_bytes, 3);
        assert_int_equal(ds.shape.n_classes, 5);
        assert_int_equal(ds.shape.n_odd, 1);
        assert_non_null(strstr(ds.shape.odd[0], folder_path("s.tar")));
        dlb_dataset_close(&ds);
    }
    put_manifest(", \"samples\": 1, \"bytes\": 4, \"max_sample_bytes\": 4", "4294967296");
    open_shards(&ds); /* that could be, and is not so */
    assert_int_equal(ds.shape.n_samples, 2);
    assert_true(ds.shape.n_classes == UINT64_C(1) << 32);
    assert_int_equal(ds.shape.n_odd, 1);
    assert_non_null(strstr(ds.shape.odd[0], folder_path(DLB_MANIFEST_NAME)));
    dlb_dataset_close(&ds);
    static const char *const classes[] = {"-1", "4294967297", "9223372036854775807", "\"x\"",
                                          "0.5"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        put_manifest(", \"samples\": 2, \"bytes\": 4, \"max_sample_bytes\": 3", classes[i]);
        open_shards(&ds);
        assert_int_equal(ds.shape.n_samples, 2);
        assert_int_equal(ds.shape.n_classes, 0);
        assert_int_equal(ds.shape.n_odd, 1);
        dlb_dataset_close(&ds);
    }
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_behind_the_end),     IN_FOLDER(test_members_of_no_sample),
        IN_FOLDER(test_keys_again),         IN_FOLDER(test_keys_and_labels),
        IN_FOLDER(test_manifests_that_lie),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
