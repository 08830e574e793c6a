/* formats/fmt_webdataset: grouping as webdataset does it, shards by others, and shards that are cut
 * or damaged. */
#include "tests/support/dataset.h"
#include "tests/support/folder.h"

static struct dlb_err err;

/* A tar archive being written, by hand: ustar headers as in POSIX.1-1988. */
struct tarball {
    uint8_t bytes[1 << 18];
    size_t len;
};
static struct tarball ball;

static void put_octal(uint8_t *at, size_t n, uint64_t value)
{
    (void)snprintf((char *)at, n, "%0*llo", (int)n - 1, (unsigned long long)value);
}

static void seal(uint8_t *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    (void)snprintf((char *)header + 148, 8, "%06o", sum);
    header[155] = ' ';
}

static uint8_t *put(const char *prefix, const char *name, char type, const void *data, size_t n)
{
    uint8_t *header = ball.bytes + ball.len;
    memset(header, 0, 512);
    memcpy(header, name, strlen(name) < 100 ? strlen(name) : 100);
    put_octal(header + 100, 8, 0644);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_octal(header + 124, 12, n);
    put_octal(header + 136, 12, 0);
    header[156] = (uint8_t)type;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    if (prefix)
        memcpy(header + 345, prefix, strlen(prefix));
    seal(header);
    memset(header + 512, 0, (n + 511) & ~(size_t)511);
    memcpy(header + 512, data, n);
    ball.len += 512 + ((n + 511) & ~(size_t)511);
    return header;
}

static void file(const char *name, const char *content)
{
    (void)put(NULL, name, '0', content, strlen(content));
}

static void start(void)
{
    ball.len = 0;
}

static void finish(const char *name)
{
    memset(ball.bytes + ball.len, 0, 1024);
    ball.len += 1024;
    folder_write(name, ball.bytes, ball.len);
}

static void open_shards(struct dlb_dataset *ds)
{
    if (dataset_open(ds, "webdataset", "raw", folder, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
}

/* Reads a shard: "key-less" text of each sample's fields, "name=content;" back to back, samples
 * parted by "|". */
static int read_shard(const struct dlb_dataset *ds, uint32_t shard, char *text, size_t n_text,
                      uint64_t *n_io)
{
    void *reader = dataset_reader(ds);
    struct dlb_sample sample = {0};
    size_t len = 0;
    int rc = ds->format->shard_open(reader, shard, &err);

    text[0] = '\0';
    while (rc == DLB_OK &&
           (rc = ds->format->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err)) == DLB_OK) {
        for (uint32_t i = 0; i < sample.n_fields; i++)
            len += (size_t)snprintf(text + len, n_text - len, "%s=%.*s;", sample.field[i].name,
                                    (int)sample.field[i].len_bytes,
                                    (const char *)sample.field[i].data);
        len += (size_t)snprintf(text + len, n_text - len, "|");
        if (n_io)
            *n_io += sample.io_bytes;
    }
    dataset_reader_free(ds, reader);
    return rc;
}

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
    assert_int_equal(ds.format->shard_samples(ds.state, 0), n_samples);
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
    (void)put(NULL, "dir/b.txt", '2', "", 0); /* a link: passed over, and b goes on */
    file("dir/README", "no");                 /* no field: passed over, and b goes on */
    file("dir/.hidden.jpg", "no");
    file("dir/b.cls", "4");
    file("other/b.jpg", "C"); /* the key has the path in it */
    file("v1.0/x.jpg", "D");  /* dots in folders are no fields */
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
    assert_int_equal(ds.format->shard_open(reader, 1, &err), DLB_OK);
    assert_int_equal(ds.format->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err), DLB_OK);
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
        assert_int_equal(ds.format->shard_open(reader, 0, &err), DLB_OK);
        assert_int_equal(ds.format->next(reader, dest, &sample, &err), DLB_OK);
        assert_int_equal(sample.n_fields, 3);
        assert_int_equal(sample.field[0].data == place, cap == sizeof place);
        assert_memory_equal(sample.field[0].data, "70123456", 8);
        assert_ptr_equal(sample.field[1].data, sample.field[0].data + 1);
        assert_string_equal(sample.field[0].name, "cls"); /* in the archive's order */
        assert_int_equal(sample.label, 7);
        assert_int_equal(ds.format->next(reader, dest, &sample, &err), DLB_END);
        assert_int_equal(ds.format->next(reader, dest, &sample, &err), DLB_END);
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
        assert_int_equal(ds.format->shard_open(reader, 0, &err), DLB_OK);
        assert_int_equal(ds.format->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
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
    /* b.jpg came twice in a row: an error, which shows that both names were understood. */
    struct dlb_dataset ds;
    char text[256];
    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, 1);
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, NULL), DLB_E_FORMAT);
    assert_string_equal(text, "jpg=A;cls=1;|");
    assert_non_null(strstr(err.what, "twice"));
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

static void test_names_that_no_locale_says(void **state)
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

/* Wherever a shard is cut: what is whole before the cut is read, then comes an error with path and
 * offset, or, between two members, a remark. */
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

/* The next shard reads as if nothing had been. */
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
    assert_int_equal(ds.format->shard_open(reader, 0, &err), DLB_OK);
    assert_int_equal(ds.format->next(reader, none, &sample, &err), DLB_OK);
    assert_int_equal(ds.format->next(reader, none, &sample, &err), DLB_E_FORMAT);
    assert_int_equal(ds.format->next(reader, none, &sample, &err), DLB_END);
    assert_int_equal(ds.format->shard_open(reader, 1, &err), DLB_OK);
    assert_int_equal(ds.format->next(reader, none, &sample, &err), DLB_OK);
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
    folder_write("s.tar.gz", gzip, sizeof gzip);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder, &err), DLB_E_FORMAT);
    assert_non_null(strstr(err.what, "compressed"));
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", folder_path("s.tar.gz"), &err),
                     DLB_E_FORMAT);
    assert_non_null(strstr(err.what, "compressed"));
    folder_write("t.tar", gzip, sizeof gzip); /* compressed in spite of its name */
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
    assert_non_null(strstr(ds.shape.odd[0], "compressed"));
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
    assert_non_null(strstr(err.what, "twice"));
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
    assert_non_null(strstr(err.what, "more than 8 fields"));
    dlb_dataset_close(&ds);
}

/* What gen writes: counts come from the manifest while a shard is as it was; io_bytes add up to
 * what was read. */
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
    assert_int_equal(ds.format->shard_samples(ds.state, 0), 1000);
    assert_int_equal(ds.format->shard_samples(ds.state, 1), 30);
    assert_int_equal(ds.shape.max_sample_bytes, 701);
    assert_int_equal(ds.shape.n_classes, 5);
    uint64_t n_io = 0, id = ds.shape.id;
    assert_int_equal(read_shard(&ds, 0, text, sizeof text, &n_io), DLB_END);
    assert_int_equal(stat(folder_path("data/shard-000000.tar"), &st), 0);
    assert_true(n_io > 1000 * 1500 && n_io <= (uint64_t)st.st_size);
    void *reader = dataset_reader(&ds);
    struct dlb_sample sample;
    assert_int_equal(ds.format->shard_open(reader, 1, &err), DLB_OK);
    for (uint64_t i = 1000; i < 1030; i++) {
        assert_int_equal(ds.format->next(reader, (struct dlb_dest){NULL, 0}, &sample, &err),
                         DLB_OK);
        assert_int_equal(sample.index, i);
        assert_int_equal(sample.label, dlb_gen_label(&g.opts, i));
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
    /* Without its manifest it is the same data set, and one of a stranger. */
    assert_int_equal(remove(folder_path("data/" DLB_MANIFEST_NAME)), 0);
    assert_int_equal(dataset_open(&ds, "webdataset", "raw", target, &err), DLB_OK);
    assert_true(ds.shape.id == id);
    assert_int_equal(ds.shape.n_samples, 1030);
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
        IN_FOLDER(test_grouping),
        IN_FOLDER(test_samples_end_with_their_shard),
        IN_FOLDER(test_places),
        IN_FOLDER(test_codec_gets_the_image),
        IN_FOLDER(test_names_and_sizes_of_others),
        IN_FOLDER(test_names_that_no_locale_says),
        IN_FOLDER(test_cut),
        IN_FOLDER(test_damaged_header),
        IN_FOLDER(test_after_an_error),
        IN_FOLDER(test_not_tar),
        IN_FOLDER(test_bad_samples),
        IN_FOLDER(test_generated),
        IN_FOLDER(test_manifest_is_not_believed_blindly),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
