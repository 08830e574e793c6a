/* formats/webdataset: grouping as in webdataset, shards of other programs, shards of gen. */
#include "formats/generate/manifest.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

static void expect_shard(const char *expected)
{
    struct dlb_dataset ds;
    char text[4096];
    uint64_t n_io = 0;

    open_shards(&ds);
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, &n_io), DLB_END);
    assert_string_equal(text, expected);
    size_t n_samples = 0;
    for (const char *p = expected; *p; p++)
        n_samples += *p == '|';
    assert_int_equal(ds.shape.n_samples, n_samples);
    assert_int_equal(ds.format->reader->shard_samples(ds.state, 0), n_samples);
    dlb_dataset_close(&ds);
}

static void test_grouping(void **state)
{
    (void)state;
    start();
    file("__meta__", "no");
    file("__index__/a.txt", "no");
    (void)put(NULL, "dir", '5', "", 0);
    file("dir/a.jpg", "A");
    file("dir/a.CLS", "3");
    file("dir/a.seg.png", "S");
    file("dir/b.jpg", "B");
    (void)put(NULL, "dir/b.txt", '2', "", 0); /* a link: skipped, and b continues */
    file("dir/README", "no");                 /* no field: skipped, and b continues */
    file("dir/.hidden.jpg", "no");
    file("dir/b.cls", "4");
    file("other/b.jpg", "C"); /* the path is part of the key */
    file("v1.0/x.jpg", "D");  /* dots in folders do not count */
    file("dir/a.jpg", "E");   /* not adjacent: a sample of its own */
    finish("s.tar");
    expect_shard("jpg=A;cls=3;seg.png=S;|jpg=B;cls=4;|jpg=C;|jpg=D;|jpg=E;|");
}

static void test_samples_end_with_their_shard(void **state)
{
    struct dlb_dataset ds;
    char text[256];
    struct dlb_sample sample;

    (void)state;
    start();
    file("a.jpg", "A1");
    file("b.jpg", "B1");
    finish("s1.tar");
    start();
    file("b.cls", "2");
    finish("s2.tar");
    open_shards(&ds);
    assert_int_equal(ds.shape.n_shards, 2);
    assert_int_equal(ds.shape.n_samples, 3);
    assert_int_equal(ds.shape.total_bytes, 5);
    assert_int_equal(ds.shape.max_sample_bytes, 2);
    assert_true(ds.shape.iterable);
    assert_int_equal(read_shard(&ds, 1, text, sizeof text, NULL), DLB_END);
    assert_string_equal(text, "cls=2;|");
    void *reader = dataset_reader(&ds);
    assert_int_equal(ds.format->reader->shard_open(reader, 1, &err), DLB_OK);
    assert_int_equal(ds.format->reader->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
                     DLB_OK);
    assert_int_equal(sample.index, 2);
    assert_int_equal(sample.label, 2);
    assert_string_equal(sample.path, folder_path("s2.tar"));
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_places(void **state)
{
    struct dlb_dataset ds;
    struct dlb_sample sample;
    uint8_t place[8];

    (void)state;
    start();
    file("a.cls", "7");
    file("a.jpg", "0123456");
    file("a.txt", "");
    finish("s.tar");
    open_shards(&ds);
    void *reader = dataset_reader(&ds);
    for (size_t cap = 0; cap <= sizeof place; cap++) { /* it fits only in the last round */
        struct dlb_dest dest = {place, cap};
        assert_int_equal(ds.format->reader->shard_open(reader, 0, &err), DLB_OK);
        assert_int_equal(ds.format->reader->next(reader, dest, &sample, &err), DLB_OK);
        assert_int_equal(sample.n_fields, 3);
        assert_int_equal(sample.field[0].data == place, cap == sizeof place);
        assert_memory_equal(sample.field[0].data, "70123456", 8);
        assert_ptr_equal(sample.field[1].data, sample.field[0].data + 1);
        assert_string_equal(sample.field[0].name, "cls"); /* in the archive's order */
        assert_int_equal(sample.label, 7);
        assert_int_equal(ds.format->reader->next(reader, dest, &sample, &err), DLB_END);
        assert_int_equal(ds.format->reader->next(reader, dest, &sample, &err), DLB_END);
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_codec_gets_the_image(void **state)
{
    static const char *const names[][3] = {{"a.cls", "a.jpeg", "a.json"},
                                           {"a.json", "a.left.jpg", "a.txt"},
                                           {"a.cls", "a.webp", "a.json"}};
    static const char *const first[] = {"jpeg", "left.jpg", "webp"};
    struct dlb_dataset ds;
    struct dlb_sample sample;

    (void)state;
    if (!is_built("webdataset", "jpeg"))
        skip();
    for (size_t i = 0; i < 3; i++) {
        start();
        for (size_t k = 0; k < 3; k++)
            file(names[i][k], "1");
        finish("s.tar");
        assert_int_equal(dataset_open(&ds, "webdataset", "jpeg", folder, &err), DLB_OK);
        void *reader = dataset_reader(&ds);
        assert_int_equal(ds.format->reader->shard_open(reader, 0, &err), DLB_OK);
        assert_int_equal(ds.format->reader->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
                         DLB_OK);
        assert_string_equal(sample.field[0].name, first[i]);
        dataset_reader_free(&ds, reader);
        dlb_dataset_close(&ds);
    }
}

/* Names longer than a header: ustar's prefix, pax, GNU; sizes in base-256 and pax. */
static void test_names_and_sizes_of_others(void **state)
{
    char folder_name[121], name[160], pax[256];

    (void)state;
    memset(folder_name, 'd', 120);
    folder_name[120] = '\0';
    start();
    (void)put(folder_name, "a.jpg", '0', "A", 1);
    (void)put(folder_name, "a.cls", '0', "1", 1);
    (void)snprintf(name, sizeof name, "%s/b.jpg", folder_name);
    int n = snprintf(pax, sizeof pax, "%zu path=%s\n", strlen(name) + 10, name);
    (void)put(NULL, "pax", 'x', pax, (size_t)n);
    file("short", "B");
    (void)put(NULL, "././@LongLink", 'L', name, strlen(name) + 1);
    file("short", "C"); /* the field b.jpg again, but see below */
    uint8_t *header;
    finish("s.tar");
    /* b.jpg occurs twice in a row: the error shows that both names were parsed. */
    struct dlb_dataset ds;
    char text[256];
    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, 1);
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, NULL), DLB_E_FORMAT);
    assert_string_equal(text, "jpg=A;cls=1;|");
    assert_int_equal(err.code, DLB_ERR_TAR_FIELD_TWICE);
    dlb_dataset_close(&ds);

    start();
    header = put(NULL, "a.jpg", '0', "base-256", 8);
    memset(header + 124, 0, 12);
    header[124] = 0x80;
    header[135] = 8;
    seal(header);
    (void)put(NULL, "pax", 'x', "9 size=3\n", 9);
    header = put(NULL, "b.jpg", '0', "pax", 3);
    put_octal(header + 124, 12, 0);
    seal(header);
    finish("s.tar");
    expect_shard("jpg=base-256;|jpg=pax;|");
}

static void test_names_outside_the_locale(void **state)
{
    (void)state;
    start();
    file("caf\xc3\xa9.jpg", "A"); /* UTF-8 in a ustar header */
    file("caf\xc3\xa9.cls", "1");
    (void)put(NULL, "pax", 'x', "15 path=\xc3\xbc.jpg\n", 15);
    file("x", "B");
    file("\xff\xfe.jpg", "C"); /* no encoding at all */
    finish("s.tar");
    expect_shard("jpg=A;cls=1;|jpg=B;|jpg=C;|");
}

/* Shards of gen: counts come from the manifest while a shard is unchanged; io_bytes add up to the
 * bytes read. */
static void test_generated(void **state)
{
    struct generation g;
    struct dlb_dataset ds;
    char target[512];
    static char text[1 << 20];
    struct stat st;

    (void)state;
    (void)snprintf(target, sizeof target, "%s/data", folder);
    generation_set(&g, "webdataset", "raw", target, 1030, 700);
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", target, &err), DLB_OK);
    assert_int_equal(ds.shape.n_shards, 2);
    assert_int_equal(ds.shape.n_samples, 1030);
    assert_int_equal(ds.format->reader->shard_samples(ds.state, 0), 1000);
    assert_int_equal(ds.format->reader->shard_samples(ds.state, 1), 30);
    assert_int_equal(ds.shape.max_sample_bytes, 701);
    assert_int_equal(ds.shape.n_classes, 5);
    uint64_t n_io = 0, id = ds.shape.id;
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, &n_io), DLB_END);
    assert_int_equal(stat(folder_path("data/shard-000000.tar"), &st), 0);
    assert_true(n_io > 1000 * 1500 && n_io <= (uint64_t)st.st_size);
    void *reader = dataset_reader(&ds);
    struct dlb_sample sample;
    assert_int_equal(ds.format->reader->shard_open(reader, 1, &err), DLB_OK);
    for (uint64_t i = 1000; i < 1030; i++) {
        assert_int_equal(ds.format->reader->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
                         DLB_OK);
        assert_int_equal(sample.index, i);
        assert_int_equal(sample.label, dlb_gen_label(&g.opts, i));
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
    /* Without its manifest it reads the same. */
    assert_int_equal(remove(folder_path("data/" DLB_MANIFEST_NAME)), 0);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", target, &err), DLB_OK);
    assert_true(ds.shape.id == id);
    assert_int_equal(ds.shape.n_samples, 1030);
    dlb_dataset_close(&ds);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_grouping),
        IN_FOLDER(test_samples_end_with_their_shard),
        IN_FOLDER(test_places),
        IN_FOLDER(test_codec_gets_the_image),
        IN_FOLDER(test_names_and_sizes_of_others),
        IN_FOLDER(test_names_outside_the_locale),
        IN_FOLDER(test_generated),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
