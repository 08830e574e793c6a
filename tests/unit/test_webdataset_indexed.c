/* formats/webdataset by its index: the same samples as streamed, in any order. */
#include "core/base/hash.h"
#include "core/base/rng.h"
#include "tests/support/dataset.h"
#include "tests/support/folder.h"
#include "tests/support/tarball.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static void open_indexed(struct dlb_dataset *ds)
{
    if (dataset_open_as(ds, "webdataset", "raw", folder, DLB_ACCESS_INDEXED, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
    assert_false(ds->shape.iterable);
    assert_int_equal(ds->shape.n_shards, 0);
}

/* Text of a sample: "name=content;" for each field. */
static void text_of(const struct dlb_sample *sample, char *text, size_t n_text)
{
    size_t len = 0;
    for (uint32_t i = 0; i < sample->n_fields; i++)
        len +=
            (size_t)snprintf(text + len, n_text - len, "%s=%.*s;", sample->field[i].name,
                             (int)sample->field[i].len_bytes, (const char *)sample->field[i].data);
}

static void make_mixed(void)
{
    char big[6000];

    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    start();
    file("__meta__", "no");
    (void)put(NULL, "dir", '5', "", 0);
    file("dir/a.jpg", "A");
    file("dir/a.CLS", "3");
    file("dir/a.json", "{}");
    file("dir/b.cls", "4"); /* small, then large, then small */
    file("dir/b.jpg", big);
    file("dir/b.json", "{1}");
    file("dir/README", "no"); /* c's fields lie too far apart to be read together */
    file("dir/c.jpg", "C");
    file("dir/other", big);
    file("dir/c.cls", "5");
    file("dir/d.a.much.longer.name.jpg", "");
    finish("s1.tar");
    start();
    finish("s2.tar"); /* no samples */
    start();
    (void)put(NULL, "pax", 'x', "19 path=long/e.jpg\n", 19);
    file("short", "E");
    file("long/e.cls", "6");
    file("f.txt", big);
    finish("s3.tar");
}

/* Streamed and indexed: the same (index, label, fields). */
static void test_same_as_streamed(void **state)
{
    struct dlb_dataset streamed, indexed;
    static char want[16384], got[16384];
    struct dlb_sample a = {0}, b = {0};
    uint64_t n = 0;

    (void)state;
    make_mixed();
    open_shards(&streamed);
    open_indexed(&indexed);
    assert_int_equal(indexed.shape.n_samples, 6);
    assert_int_equal(indexed.shape.n_samples, streamed.shape.n_samples);
    assert_int_equal(indexed.shape.total_bytes, streamed.shape.total_bytes);
    assert_int_equal(indexed.shape.max_sample_bytes, streamed.shape.max_sample_bytes);
    assert_true(indexed.shape.id == streamed.shape.id);
    void *stream = dataset_reader(&streamed), *index = dataset_reader(&indexed);
    struct dlb_dest none = {NULL, 0};
    for (uint32_t s = 0; s < streamed.shape.n_shards; s++) {
        assert_int_equal(streamed.format->reader->shard_open(stream, s, &err), DLB_OK);
        while (streamed.format->reader->next(stream, none, &a, &err) == DLB_OK) {
            assert_int_equal(indexed.format->reader->read(index, a.index, none, &b, &err), DLB_OK);
            text_of(&a, want, sizeof want);
            text_of(&b, got, sizeof got);
            assert_string_equal(got, want);
            assert_int_equal(b.index, a.index);
            assert_int_equal(b.label, a.label);
            assert_string_equal(b.path, a.path);
            n++;
        }
    }
    assert_int_equal(n, 6);
    char path[512];
    indexed.format->reader->whereabouts(indexed.state, 4, path, sizeof path);
    assert_string_equal(path, folder_path("s3.tar"));
    dataset_reader_free(&streamed, stream);
    dataset_reader_free(&indexed, index);
    dlb_dataset_close(&streamed);
    dlb_dataset_close(&indexed);
}

static uint32_t n_by_name;

/* Reads its pieces one by one, as a loader would, and assembles them. */
static void read_located(const struct dlb_dataset *ds, void *reader, uint64_t index,
                         struct dlb_sample *out)
{
    static uint8_t bytes[16384];
    struct dlb_extent extent[DLB_MAX_FIELDS];
    struct dlb_field pieces[DLB_MAX_FIELDS];
    struct dlb_located located = {.extent = extent, .cap = DLB_MAX_FIELDS};
    size_t len = 0, n_bytes = 0;

    assert_int_equal(ds->format->reader->locate(reader, index, &located, &err), DLB_OK);
    assert_in_range(located.n, 1, DLB_MAX_FIELDS);
    for (uint32_t i = 0; i < located.n; len += pieces[i++].len_bytes) {
        int fd = extent[i].fd >= 0 ? extent[i].fd : open(extent[i].name, O_RDONLY | O_CLOEXEC);
        pieces[i] = (struct dlb_field){.data = bytes + len, .len_bytes = extent[i].n_bytes};
        assert_true(len + extent[i].n_bytes <= sizeof bytes);
        assert_int_equal(pread(fd, bytes + len, extent[i].n_bytes, (off_t)extent[i].offset_bytes),
                         extent[i].n_bytes);
        n_by_name += extent[i].fd < 0;
        if (extent[i].fd < 0)
            (void)close(fd);
    }
    struct dlb_dest none = {NULL, 0};
    assert_int_equal(
        ds->format->reader->assemble(reader, index, pieces, located.n, none, out, &err), DLB_OK);
    for (uint32_t i = 0; i < out->n_fields; i++) {
        if (located.plain)
            assert_ptr_equal(out->field[i].data, bytes + n_bytes);
        n_bytes += out->field[i].len_bytes;
    }
    assert_true(located.plain ? n_bytes == len : n_bytes < len);
}

/* Located samples, read by the caller: the same, from shards that are kept open and others. */
static void test_located(void **state)
{
    static char want[16384], got[16384];
    struct rlimit old, low;

    (void)state;
    make_mixed();
    for (unsigned i = 0; i < 30; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%02u.tar", i);
        start();
        file("g.jpg", name);
        file("g.cls", "7");
        finish(name);
    }
    for (int few = 0; few < 2; few++) {
        struct dlb_dataset ds;
        struct dlb_sample a = {0}, b = {0};
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
        low = (struct rlimit){.rlim_cur = few ? 40 : old.rlim_cur, .rlim_max = old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        open_indexed(&ds);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        void *reader = dataset_reader(&ds);
        for (uint64_t i = 0; i < ds.shape.n_samples; i++) {
            struct dlb_dest none = {NULL, 0};
            assert_int_equal(ds.format->reader->read(reader, i, none, &a, &err), DLB_OK);
            text_of(&a, want, sizeof want);
            read_located(&ds, reader, i, &b);
            text_of(&b, got, sizeof got);
            assert_string_equal(got, want);
            assert_int_equal(b.index, i);
            assert_int_equal(b.label, a.label);
            assert_string_equal(b.path, a.path);
            assert_int_equal(b.offset_bytes, a.offset_bytes);
        }
        assert_int_equal(n_by_name > 0, few);
        dataset_reader_free(&ds, reader);
        dlb_dataset_close(&ds);
    }
}

/* Fields lie back to back, in the given place when they fit, and nothing is written past it. */
static void test_places(void **state)
{
    struct dlb_dataset ds;
    static uint8_t place[9000], want[9000];
    struct dlb_sample sample = {0};

    (void)state;
    make_mixed();
    open_indexed(&ds);
    void *reader = dataset_reader(&ds);
    for (uint64_t k = 0; k < ds.shape.n_samples; k++) {
        size_t n = 0;
        assert_int_equal(
            ds.format->reader->read(reader, k, (struct dlb_dest){NULL, 0}, &sample, &err), DLB_OK);
        for (uint32_t i = 0; i < sample.n_fields; i++) {
            if (i > 0)
                assert_ptr_equal(sample.field[i].data,
                                 sample.field[i - 1].data + sample.field[i - 1].len_bytes);
            memcpy(want + n, sample.field[i].data, sample.field[i].len_bytes);
            n += sample.field[i].len_bytes;
        }
        size_t caps[] = {0, n ? n - 1 : 0, n, n + 1, n + 1300, n + 3000};
        for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
            memset(place, 0xee, sizeof place);
            struct dlb_dest dest = {place, caps[c]};
            assert_int_equal(ds.format->reader->read(reader, k, dest, &sample, &err), DLB_OK);
            assert_memory_equal(sample.field[0].data, want, n);
            if (caps[c] >= n && n > 0)
                assert_ptr_equal(sample.field[0].data, place);
            assert_true(sample.io_bytes >= n && sample.io_bytes <= n + 3 * 4608);
            for (size_t i = caps[c]; i < sizeof place; i++)
                assert_int_equal(place[i], 0xee);
        }
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

static void test_generated_at_random(void **state)
{
    struct generation g;
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};
    struct dlb_bytes want = {0};
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);

    (void)state;
    generation_set(&g, "webdataset", "raw", folder_path("set"), 1100, 300);
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    if (dataset_open_as(&ds, "webdataset", "raw", folder_path("set"), DLB_ACCESS_INDEXED, &err))
        fail_msg("%s", err.what);
    assert_int_equal(ds.shape.n_samples, 1100);
    assert_int_equal(ds.shape.n_classes, 5);
    void *reader = dataset_reader(&ds);
    for (int i = 0; i < 2000; i++) {
        uint64_t k = dlb_rng_below(&rng, 1100);
        assert_int_equal(
            ds.format->reader->read(reader, k, (struct dlb_dest){NULL, 0}, &sample, &err), DLB_OK);
        want.len_bytes = 0;
        assert_int_equal(g.gen.codec->make(&g.opts, k, &want, &err), DLB_OK);
        assert_int_equal(sample.index, k);
        assert_int_equal(sample.label, dlb_gen_label(&g.opts, k));
        assert_int_equal(sample.field[0].len_bytes, 300);
        assert_memory_equal(sample.field[0].data, want.data, 300);
    }
    dlb_bytes_free(&want);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

/* More shards than descriptors. */
static void test_many_shards(void **state)
{
    struct rlimit before, few;
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};
    char name[32];

    (void)state;
    for (int i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof name, "%02d.txt", i);
        start();
        file(name, name);
        (void)snprintf(name, sizeof name, "s%02d.tar", i);
        finish(name);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 40;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    open_indexed(&ds);
    void *reader = dataset_reader(&ds);
    for (uint64_t k = 0; k < 60; k++) {
        assert_int_equal(
            ds.format->reader->read(reader, k, (struct dlb_dest){NULL, 0}, &sample, &err), DLB_OK);
        (void)snprintf(name, sizeof name, "%02u.txt", (unsigned)k);
        assert_memory_equal(sample.field[0].data, name, 6);
    }
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Samples that an index would silently leave out are refused; a later cut is an error. */
static void test_damage(void **state)
{
    struct dlb_dataset ds;
    struct dlb_sample sample = {0};

    (void)state;
    make_mixed();
    folder_cut("s1.tar", 6000);
    assert_int_equal(dataset_open_as(&ds, "webdataset", "raw", folder, DLB_ACCESS_INDEXED, &err),
                     DLB_E_FORMAT);
    assert_string_equal(err.path, folder_path("s1.tar"));
    assert_true(err.offset_bytes != DLB_NO_OFFSET);
    make_mixed();
    open_indexed(&ds);
    folder_cut("s3.tar", 4000);
    void *reader = dataset_reader(&ds);
    struct dlb_dest none = {NULL, 0};
    assert_int_equal(ds.format->reader->read(reader, 0, none, &sample, &err), DLB_OK);
    assert_int_equal(ds.format->reader->read(reader, 5, none, &sample, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_TAR_CUT_SHORT);
    assert_string_equal(err.path, folder_path("s3.tar"));
    assert_int_equal(err.offset_bytes, 4000);
    assert_int_equal(ds.format->reader->read(reader, 0, none, &sample, &err), DLB_OK);
    dataset_reader_free(&ds, reader);
    dlb_dataset_close(&ds);
}

/* Each member's name would be looked for among all of them. */
static void write_names(int n)
{
    start();
    for (int i = 0; i < n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%d.f%d", i, i);
        file(name, "");
    }
    finish("s1.tar");
}

static void test_too_many_field_names(void **state)
{
    struct dlb_dataset ds;

    (void)state;
    write_names(1024);
    assert_int_equal(dataset_open_as(&ds, "webdataset", "raw", folder, DLB_ACCESS_INDEXED, &err),
                     DLB_OK);
    dlb_dataset_close(&ds);
    write_names(1025);
    open_shards(&ds);
    assert_int_equal(ds.shape.n_samples, 1025);
    dlb_dataset_close(&ds);
    assert_int_equal(dataset_open_as(&ds, "webdataset", "raw", folder, DLB_ACCESS_INDEXED, &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SHARD_NOT_INDEXABLE);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_same_as_streamed),     IN_FOLDER(test_located),     IN_FOLDER(test_places),
        IN_FOLDER(test_generated_at_random),  IN_FOLDER(test_many_shards), IN_FOLDER(test_damage),
        IN_FOLDER(test_too_many_field_names),
    };
    if (dlb_format_by_name("webdataset")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
