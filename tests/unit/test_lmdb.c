/* LMDB: values in the order of their keys, in threads and forked processes; writing; damage.
 * Databases by Python's lmdb are in contract/test_kv_peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/rng.h"
#include "formats/lmdb/lmdb.h"
#include "formats/lmdb/write.h"
#include "tests/support/opened.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { N = 500, LARGEST = 40000 };

struct opts { /* as formats/lmdb/fmt_lmdb.c has them */
    bool readahead;
    char prefix[DLB_OPT_STRING_CAP];
};

/* Empty, within a leaf, and on pages of their own. */
static size_t value_bytes(uint64_t i)
{
    return (size_t)(i % 5 == 0 ? i % 3 : i % 5 == 1 ? 4000 + i : i % 5 == 2 ? LARGEST - i : i * 3);
}

static uint8_t value_byte(uint64_t i, size_t k)
{
    return (uint8_t)(dlb_mix64(i * 100000 + k) | 1); /* no zeros: these would hide a lost page */
}

static void make_value(uint64_t i, uint8_t *out)
{
    for (size_t k = 0; k < value_bytes(i); k++)
        out[k] = value_byte(i, k);
}

static void write_database(const char *name)
{
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    uint8_t *value = malloc(LARGEST);
    char key[32];
    assert_non_null(value);
    assert_int_equal(dlb_lmdb_create(&writer, folder_path(name), &err), DLB_OK);
    for (uint64_t i = 0; i < N; i++) {
        int n = snprintf(key, sizeof key, "%s-%05d", i < N / 2 ? "image" : "label", (int)i);
        make_value(i, value);
        assert_int_equal(dlb_lmdb_put(writer, key, (size_t)n, value, value_bytes(i), &err), DLB_OK);
    }
    assert_int_equal(dlb_lmdb_put(writer, "image", 5, "", 0, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_LMDB_FAILED);
    assert_int_equal(err.lib_code, -30799); /* MDB_KEYEXIST */
    assert_int_equal(dlb_lmdb_put(writer, "", 0, "", 0, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_LMDB_ENTRY_TOO_LARGE);
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
    free(value);
}

static int is_value(struct opened_set *set, uint64_t index, uint64_t number)
{
    int rc = opened_read(set, index);
    if (rc != DLB_OK)
        return rc;
    const struct dlb_field *field = &set->sample.field[0];
    bool same = field->len_bytes == value_bytes(number) && set->sample.index == index;
    for (size_t k = 0; same && k < field->len_bytes; k++)
        same = field->data[k] == value_byte(number, k);
    return same ? DLB_OK : DLB_E_FORMAT;
}

static void expect_all(struct opened_set *set)
{
    uint64_t total = 0, most = 0;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t index = i * 211 % N;
        assert_int_equal(is_value(set, index, index), DLB_OK);
        total += value_bytes(index);
        most = value_bytes(index) > most ? value_bytes(index) : most;
    }
    assert_int_equal(set->ds.shape.n_samples, N);
    assert_int_equal(set->ds.shape.total_bytes, total);
    assert_int_equal(set->ds.shape.max_sample_bytes, most);
}

static void values(void **state)
{
    struct opened_set set;
    struct opts opts = {.readahead = true, .prefix = "label-"};
    uint8_t there[8192];
    (void)state;
    folder_sub("d");
    write_database("d/data.mdb");
    opened_must(&set, "lmdb", "raw", folder_path("d"), NULL);
    expect_all(&set);
    assert_int_equal(set.ds.shape.n_odd, 1); /* empty values */
    assert_int_equal(opened_read_to(&set, 1, (struct dlb_dest){there, value_bytes(1)}), DLB_OK);
    assert_ptr_equal(set.sample.field[0].data, there);
    assert_int_equal(opened_read_to(&set, 1, (struct dlb_dest){there, value_bytes(1) - 1}), DLB_OK);
    assert_ptr_not_equal(set.sample.field[0].data, there);
    opened_close(&set);
    opened_must(&set, "lmdb", "raw", folder_path("d/data.mdb"), &opts);
    assert_int_equal(set.ds.shape.n_samples, N / 2);
    for (uint64_t i = 0; i < N / 2; i++)
        assert_int_equal(is_value(&set, i, N / 2 + i), DLB_OK);
    opened_close(&set);
    (void)snprintf(opts.prefix, sizeof opts.prefix, "mask-");
    opened_refused_as("lmdb", folder_path("d"), &opts, DLB_ERR_LMDB_NO_SUCH_PREFIX, "data.mdb",
                      " 500 ");
    const struct dlb_format *format = dlb_format_by_name("lmdb");
    assert_true(format->probe(folder_path("d"), &dlb_io_posix) > 90);
    assert_true(format->probe(folder_path("d/data.mdb"), &dlb_io_posix) > 90);
    assert_int_equal(format->probe(folder, &dlb_io_posix), 0);
    assert_false(folder_has("d/lock.mdb")); /* nothing is written */
}

static void *read_all(void *arg)
{
    struct dlb_dataset *ds = arg;
    struct opened_set set = {.ds = *ds};
    intptr_t bad = 0;
    for (int again = 0; again < 3; again++) { /* environments come and go meanwhile */
        set.reader = dataset_reader(ds);
        for (uint64_t i = 0; i < N; i++)
            bad += is_value(&set, i, i) != DLB_OK;
        dataset_reader_free(ds, set.reader);
    }
    return (void *)bad;
}

static void threads(void **state)
{
    struct opened_set set;
    pthread_t thread[4];
    void *bad = NULL;
    (void)state;
    write_database("a.mdb");
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_all, &set.ds), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], &bad), 0);
        assert_null(bad);
    }
    expect_all(&set);
    opened_close(&set);
}

/* Children open an environment of their own, even where the parent has one open. */
static void forked(void **state)
{
    struct opened_set set;
    (void)state;
    write_database("a.mdb");
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(is_value(&set, 7, 7), DLB_OK);
    for (int child = 0; child < 3; child++) {
        int status = -1;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(read_all(&set.ds) == NULL ? 0 : 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    expect_all(&set);
    opened_close(&set);
}

static void open_twice(void **state)
{
    struct opened_set set, other;
    (void)state;
    write_database("a.mdb");
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    opened_must(&other, "lmdb", "raw", folder_path("a.mdb"), NULL);
    expect_all(&other);
    opened_close(&set);
    expect_all(&other);
    opened_close(&other);
}

/* A child's own map may lie above the one that it has from its parent. */
static void maps_lie_in_any_order(void **state)
{
    const size_t n_room = (size_t)4 << 30;
    struct opened_set set, other;
    (void)state;
    write_database("a.mdb");
    void *room = mmap(NULL, n_room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(is_value(&set, 7, 7), DLB_OK);
    assert_int_equal(munmap(room, n_room), 0);
    opened_must(&other, "lmdb", "raw", folder_path("a.mdb"), NULL); /* a child looks at it */
    expect_all(&other);
    opened_close(&set);
    opened_close(&other);
}

static void generated(void **state)
{
    struct generation g;
    struct opened_set set;
    (void)state;
    generation_set(&g, "lmdb", "raw", folder_path("d"), 60, 5000);
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    assert_int_equal(g.n_written, 60);
    opened_must(&set, "lmdb", "raw", g.gen.path, NULL);
    assert_int_equal(set.ds.shape.n_samples, 60);
    assert_int_equal(set.ds.shape.n_classes, 5);
    assert_int_equal(set.ds.shape.n_odd, 0);
    for (uint64_t i = 0; i < 60; i++) {
        assert_int_equal(opened_read(&set, i), DLB_OK);
        opened_is_made(&set, "raw", &g.opts, i);
        assert_int_equal(set.sample.label, dlb_gen_label(&g.opts, i));
    }
    opened_close(&set);
}

static int add(const struct dlb_format *format, void *wr, const char *const *names, uint32_t n,
               uint32_t label, struct dlb_err *err)
{
    struct dlb_sample sample = {.n_fields = n, .label = label, .labelled = label != 0, .path = "p"};
    char number[16];

    (void)snprintf(number, sizeof number, "%u", label);
    for (uint32_t i = 0; i < n; i++) {
        const char *content = strcmp(names[i], "cls") == 0 ? number : names[i];
        sample.field[i].data = (const uint8_t *)content;
        sample.field[i].len_bytes = strlen(content);
        sample.field[i].name = names[i];
    }
    return format->writer->add(wr, &sample, err);
}

static void converted(void **state)
{
    const struct dlb_format *format = dlb_format_by_name("lmdb");
    struct dlb_shape from = {.n_samples = 300000000};
    struct dlb_write how = {.from = &from};
    void *wr = aligned_alloc(64, (format->writer->state_bytes + 63) & ~(size_t)63);
    struct opened_set set;
    struct dlb_err err;
    char path[256];
    (void)state;
    assert_non_null(wr);
    for (int labelled = 0; labelled < 2; labelled++) {
        memset(wr, 0, format->writer->state_bytes);
        (void)snprintf(path, sizeof path, "%s", folder_path(labelled ? "l" : "n"));
        how.path = path;
        assert_int_equal(format->writer->open(wr, &how, &err), DLB_OK);
        assert_int_equal(add(format, wr, (const char *[]){"jpg"}, 1, 0, &err), DLB_OK);
        assert_int_equal(
            add(format, wr, (const char *[]){"cls", "png"}, 2, labelled ? 70000 : 0, &err), DLB_OK);
        assert_int_equal(add(format, wr, (const char *[]){"jpg", "json"}, 2, 0, &err),
                         DLB_E_CONFIG);
        assert_true(strstr(err.what, "2 fields") && strstr(err.what, "LMDB"));
        assert_int_equal(format->writer->finish(wr, &err), DLB_OK);
        format->writer->close(wr);
        opened_must(&set, "lmdb", "raw", path, NULL);
        assert_int_equal(set.ds.shape.n_samples, 2);
        assert_int_equal(set.ds.shape.n_classes, labelled ? 70001 : 0);
        assert_int_equal(opened_read(&set, 0), DLB_OK);
        opened_is(&set, "jpg", 3);
        assert_int_equal(set.sample.label, 0);
        assert_int_equal(opened_read(&set, 1), DLB_OK);
        opened_is(&set, "png", 3);
        assert_int_equal(set.sample.label, labelled ? 70000 : 0);
        opened_close(&set);
    }
    assert_int_equal(format->writer->open(wr, &how, &err), DLB_E_IO); /* it is there */
    format->writer->close(wr);
    free(wr);
}

/* Refused before anything is written, by convert and by gen. */
static void more_labels_than_a_value_holds(void **state)
{
    (void)state;
    const struct dlb_format *format = dlb_format_by_name("lmdb");
    static const struct {
        uint64_t n;
        bool labelled, fine;
    } rows[] = {{DLB_LMDB_MAX_LABELS, true, true},
                {DLB_LMDB_MAX_LABELS + 1, true, false},
                {DLB_LMDB_MAX_LABELS + 1, false, true}};
    assert_int_equal(DLB_LMDB_MAX_LABELS, 1073741823);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlb_shape from = {.n_samples = rows[i].n};
        struct dlb_write how = {.path = folder_path(i == 0   ? "0"
                                                    : i == 1 ? "1"
                                                             : "2"),
                                .from = &from};
        struct dlb_lmdb_samples wr = {.n = 0};
        struct generation g;
        struct dlb_err err = {.status = DLB_OK};
        assert_int_equal(format->writer->open(&wr, &how, &err), DLB_OK);
        int rc = add(format, &wr, (const char *[]){"jpg"}, 1, rows[i].labelled, &err);
        assert_int_equal(rc == DLB_OK, rows[i].fine);
        if (!rows[i].fine)
            assert_int_equal(err.code, DLB_ERR_LMDB_ENTRY_TOO_LARGE);
        format->writer->close(&wr);
        generation_set(&g, "lmdb", "raw", folder_path("g"), (int64_t)rows[i].n, 1);
        g.opts.classes = rows[i].labelled ? 2 : 1;
        rc = format->generator->prepare(&g.gen, &err);
        assert_int_equal(rc == DLB_OK, rows[i].fine);
        if (!rows[i].fine)
            assert_int_equal(err.code, DLB_ERR_LMDB_ENTRY_TOO_LARGE);
    }
}

/* More than the first map holds. */
static void grown(void **state)
{
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    struct opened_set set;
    const size_t n_bytes = 3 << 20;
    uint8_t *value = malloc(n_bytes);
    (void)state;
    assert_non_null(value);
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("a.mdb"), &err), DLB_OK);
    for (uint32_t i = 0; i < 100; i++) {
        uint8_t key[4] = {0, 0, (uint8_t)(i >> 8), (uint8_t)i};
        memset(value, (int)i + 1, n_bytes);
        assert_int_equal(dlb_lmdb_put(writer, key, 4, value, n_bytes, &err), DLB_OK);
    }
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(opened_read(&set, i), DLB_OK);
        assert_int_equal(set.sample.field[0].len_bytes, n_bytes);
        assert_int_equal(set.sample.field[0].data[0], i + 1);
        assert_int_equal(set.sample.field[0].data[n_bytes - 1], i + 1);
    }
    opened_close(&set);
    free(value);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(values),
        TEST(threads),
        TEST(forked),
        TEST(open_twice),
        TEST(maps_lie_in_any_order),
        TEST(generated),
        TEST(converted),
        TEST(more_labels_than_a_value_holds),
        TEST(grown),
    };
    if (dlb_lmdb_missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
