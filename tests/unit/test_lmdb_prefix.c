/* LMDB: lmdb.prefix, and the labels, whose keys do not begin with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/lmdb/lmdb.h"
#include "tests/support/opened.h"

struct opts { /* as formats/lmdb/fmt_lmdb.c has them */
    bool readahead;
    char prefix[DLB_OPT_STRING_CAP];
};

enum { N = 20, NO_LABELS = 0, LABELS = 1, TYPE = 2 };

/* a.mdb: N samples, the first half "0..", the others `other`..; what belongs to labels. */
static void write_database(char other, int what)
{
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    uint8_t label[4 * N] = {0};
    char key[16];
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("a.mdb"), &err), DLB_OK);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key, sizeof key, "%c%07d", i < N / 2 ? '0' : other, i);
        label[4 * i] = (uint8_t)(N - i);
        assert_int_equal(dlb_lmdb_put(writer, key, 8, "value", 5, &err), DLB_OK);
    }
    if (what & LABELS)
        assert_int_equal(dlb_lmdb_put(writer, "__labels__", 10, label, sizeof label, &err), DLB_OK);
    if (what & TYPE)
        assert_int_equal(dlb_lmdb_put(writer, "__labels_type__", 15, "u32", 3, &err), DLB_OK);
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
}

static void labels_are_read_or_named(void **state)
{
    (void)state;
    static const struct {
        char other;
        int what;
        const char *prefix;
        uint64_t n;
        bool labelled;
        uint32_t n_odd;
    } rows[] = {
        {'0', LABELS | TYPE, "", N, true, 0},
        {'0', LABELS | TYPE, "0", N, true, 0},
        {'0', LABELS, "0", N, true, 1}, /* nothing says that they are */
        {'1', LABELS | TYPE, "0", N / 2, false, 1},
        {'1', LABELS, "1", N / 2, false, 1},
        {'0', TYPE, "0", N, false, 0},
        {'0', NO_LABELS, "0", N, false, 0},
        {'0', LABELS | TYPE, "__labels__", 1, false, 0}, /* samples, as they were asked for */
        {'0', LABELS | TYPE, "__labels_", 2, false, 0},
        {'0', LABELS | TYPE, "__labels_t", 1, false, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct opened_set set;
        struct opts opts = {.readahead = false};
        write_database(rows[i].other, rows[i].what);
        (void)snprintf(opts.prefix, sizeof opts.prefix, "%s", rows[i].prefix);
        opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), &opts);
        assert_int_equal(set.ds.shape.n_samples, rows[i].n);
        assert_int_equal(set.ds.shape.n_odd, rows[i].n_odd);
        assert_int_equal(set.ds.shape.n_classes, rows[i].labelled ? N + 1 : 0);
        for (uint64_t k = 0; k < rows[i].n; k++) {
            assert_int_equal(opened_read(&set, k), DLB_OK);
            assert_int_equal(set.sample.labelled, rows[i].labelled);
            assert_int_equal(set.sample.label, rows[i].labelled ? N - k : 0);
        }
        opened_close(&set);
        assert_int_equal(unlink(folder_path("a.mdb")), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(labels_are_read_or_named, folder_make, folder_remove),
    };
    if (dlb_lmdb_missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
