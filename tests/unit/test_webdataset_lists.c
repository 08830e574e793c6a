/* formats/webdataset/braces, and dataset.path as a list of shards. */
#include "formats/generate/manifest.h"
#include "formats/webdataset/braces.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

static char joined[4096];

static int collect(void *ctx, const char *path, struct dlb_err *ignored)
{
    (void)ctx, (void)ignored;
    size_t len = strlen(joined);
    (void)snprintf(joined + len, sizeof joined - len, "%s%s", len ? " " : "", path);
    return DLB_OK;
}

static void expect(const char *pattern, const char *expected)
{
    joined[0] = '\0';
    assert_int_equal(dlb_wds_expand(pattern, collect, NULL, &err), DLB_OK);
    assert_string_equal(joined, expected);
}

/* As bash's `echo` and Python's braceexpand. */
static void test_braces(void **state)
{
    (void)state;
    expect("a.tar", "a.tar");
    expect("{000..003}.tar", "000.tar 001.tar 002.tar 003.tar");
    expect("x{8..11}", "x8 x9 x10 x11");
    expect("x{08..11}", "x08 x09 x10 x11");
    /* As bash prints them: with a leading zero in either, the longer end is the width. */
    expect("{01..100..33}", "001 034 067 100");
    expect("{1..010..4}", "001 005 009");
    expect("{98..0100}", "0098 0099 0100");
    expect("{-5..010..5}", "-05 000 005 010");
    expect("{-01..3..2}", "-01 001 003");
    expect("{0..-010..5}", "0000 -005 -010");
    expect("{-05..100..50}", "-05 045 095");
    expect("{0..10..05}", "0 5 10");
    expect("{-0..2}", "0 1 2");
    expect("{5..-5..5}", "5 0 -5");
    expect("x{3..1}", "x3 x2 x1");
    expect("x{0..10..4}", "x0 x4 x8");
    expect("x{10..0..5}", "x10 x5 x0");
    expect("{-1..1}", "-1 0 1");
    expect("{7..7}", "7");
    expect("s{a..d}.tar", "sa.tar sb.tar sc.tar sd.tar");
    expect("{a..e..2}", "a c e");
    expect("{e..a..2}", "e c a");
    expect("{C..A}", "C B A");
    expect("{b..b}", "b");
    expect("{Y..b}", "Y Z a b"); /* braceexpand: bash has [ and what follows in between */
    expect("{b..Y..2}", "b Z");
    expect("{a..b}{0..1}", "a0 a1 b0 b1");
    expect("{a,b}{0..1}.tar", "a0.tar a1.tar b0.tar b1.tar");
    expect("{train,val}-{00..01}", "train-00 train-01 val-00 val-01");
    expect("{a,b{0..1},c}z", "az b0z b1z cz");
    expect("{{0..1},{8..9}}", "0 1 8 9");
    expect("{,x}y", "y xy");
    expect("a::b{1..2}::c", "a b1 b2 c");
    expect("a::::b::", "a b");
    expect("{a}", "{a}"); /* one name is taken literally */
    expect("{}x", "{}x");
    expect("{a..}", "{a..}");
    expect("{a..1}", "{a..1}");
    expect("{1..a}", "{1..a}");
    expect("{ab..c}", "{ab..c}");
    expect("{a..c..x}", "{a..c..x}");
    expect("{1..2", "{1..2");
    expect("}{1..2}", "}1 }2");
    expect("{1..{2,3}}", "{1..2} {1..3}");
}

static int count(void *ctx, const char *path, struct dlb_err *ignored)
{
    (void)path, (void)ignored;
    ++*(uint32_t *)ctx;
    return DLB_OK;
}

static void test_too_many(void **state)
{
    uint32_t n = 0;
    char deep[1024] = "";

    (void)state;
    assert_int_equal(dlb_wds_expand("{0..999999}", count, &n, &err), DLB_OK);
    assert_int_equal(n, DLB_WDS_MAX_PATHS);
    assert_int_equal(dlb_wds_expand("{1..1000001}", count, &n, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SHARD_LIST_BAD);
    assert_int_equal(dlb_wds_expand("{0..999}{0..999}{0..999}{0..999}", count, &n, &err),
                     DLB_E_CONFIG);
    assert_int_equal(dlb_wds_expand("{1..999999999999999999..1}", count, &n, &err), DLB_E_CONFIG);
    for (int i = 0; i < 100; i++)
        strcat(deep, "{1..1}");
    assert_int_equal(dlb_wds_expand(deep, count, &n, &err), DLB_E_CONFIG);
    assert_int_equal(dlb_wds_expand("::", count, &n, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SHARD_LIST_BAD);
}

static void shard(const char *name, const char *content)
{
    start();
    file("a.txt", content);
    finish(name);
}

static void expect_shards(const char *path, const char *expected)
{
    struct dlb_dataset ds;
    char text[256], all[1024] = "";

    if (dataset_open(&ds, "webdataset", "raw", path, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
    for (uint32_t i = 0; i < ds.shape.n_shards; i++) {
        assert_int_equal(read_shard(&ds, i, text, sizeof text, NULL), DLB_END);
        text[strlen(text) - 2] = '\0';
        strcat(all, text + strlen("txt="));
        strcat(all, " ");
    }
    assert_string_equal(all, expected);
    dlb_dataset_close(&ds);
}

static int probed(const char *path)
{
    return dlb_format_by_name("webdataset")->probe(path, &dlb_io_posix);
}

static void test_lists(void **state)
{
    char path[2048];

    (void)state;
    folder_sub("more");
    for (int i = 0; i < 4; i++) {
        char name[32], content[32];
        (void)snprintf(name, sizeof name, "t-%03d.tar", i);
        (void)snprintf(content, sizeof content, "%d", i);
        shard(name, content);
        (void)snprintf(name, sizeof name, "more/m%d.tar", i);
        (void)snprintf(content, sizeof content, "m%d", i);
        shard(name, content);
    }
    (void)snprintf(path, sizeof path, "%s/t-{000..003}.tar", folder);
    expect_shards(path, "0 1 2 3 ");
    assert_int_equal(probed(path), 90);
    (void)snprintf(path, sizeof path, "%s/{t-001.tar,more/m2.tar}", folder);
    expect_shards(path, "1 m2 ");
    assert_int_equal(probed(path), 90);
    (void)snprintf(path, sizeof path, "%s/t-{003..001}.tar", folder);
    expect_shards(path, "3 2 1 ");
    (void)snprintf(path, sizeof path, "%s/t-002.tar::%s/more/m{0..1}.tar::%s/t-002.tar", folder,
                   folder, folder);
    expect_shards(path, "2 m0 m1 2 ");
    (void)snprintf(path, sizeof path, "%s/t-001.tar::%s/more", folder, folder);
    expect_shards(path, "1 m0 m1 m2 m3 ");
    assert_int_equal(probed(path), 90);
    (void)snprintf(path, sizeof path, "%s/more::%s/t-001.tar", folder, folder);
    assert_int_equal(probed(path), 90);
    assert_int_equal(probed("/nowhere/{a,b}.tar"), 90);
    assert_int_equal(probed("/nowhere/{a,b}.bin"), 0);
    assert_int_equal(probed("/nowhere/a.tar"), 0);
    shard("{1..2}.tar", "braces");
    (void)snprintf(path, sizeof path, "%s/{1..2}.tar", folder);
    expect_shards(path, "braces "); /* a file of exactly that name takes precedence */
}

static void test_missing(void **state)
{
    struct dlb_dataset ds;
    char path[256];

    (void)state;
    shard("t-0.tar", "0");
    shard("t-2.tar", "2");
    (void)snprintf(path, sizeof path, "%s/t-{0..4}.tar", folder);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", path, &err), DLB_E_IO);
    assert_string_equal(err.path, folder_path("t-1.tar"));
    assert_int_equal(err.code, DLB_ERR_SHARDS_MISSING);
    assert_non_null(strstr(err.what, "3 of the 5"));
    (void)snprintf(path, sizeof path, "%s/none.tar", folder);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", path, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_NOT_FOUND);
}

/* The manifest is also used for shards of gen that are listed one by one. */
static void test_manifest_of_listed(void **state)
{
    struct generation g;
    struct dlb_dataset ds;
    char path[256];
    size_t n;

    (void)state;
    generation_set(&g, "webdataset", "raw", folder_path("set"), 30, 100);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    /* The changed figure of the manifest is named, so the manifest was read. */
    char *manifest = (char *)folder_read("set/" DLB_MANIFEST_NAME, &n);
    manifest[n] = '\0';
    char *samples = strstr(manifest, "\"max_sample_bytes\": 101");
    assert_non_null(samples);
    samples[strlen("\"max_sample_bytes\": 10")] = '9';
    folder_write("set/" DLB_MANIFEST_NAME, manifest, n);
    free(manifest);
    (void)snprintf(path, sizeof path, "%s/set/shard-{000000..000000}.tar", folder);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", path, &err), DLB_OK);
    assert_int_equal(ds.shape.max_sample_bytes, 101);
    assert_int_equal(ds.shape.n_odd, 1);
    assert_non_null(strstr(ds.shape.odd[0], folder_path("set/" DLB_MANIFEST_NAME)));
    assert_non_null(strstr(ds.shape.odd[0], "109"));
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_braces),  IN_FOLDER(test_too_many),           IN_FOLDER(test_lists),
        IN_FOLDER(test_missing), IN_FOLDER(test_manifest_of_listed),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
