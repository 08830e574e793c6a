/* LMDB files that are cut, empty, damaged, of another kind, or shrink while they are mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/lmdb/lmdb.h"
#include "tests/support/opened.h"

enum { N = 300, VALUE = 10000 };

static void write_database(int n)
{
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    uint8_t value[VALUE];
    char key[16];
    (void)remove(folder_path("a.mdb"));
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("a.mdb"), &err), DLB_OK);
    for (int i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "%08d", i);
        memset(value, i % 255 + 1, sizeof value);
        assert_int_equal(dlb_lmdb_put(writer, key, 8, value, sizeof value, &err), DLB_OK);
    }
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
}

/* Every sample is right or an error with path, never zeros. */
static uint32_t read_all(struct opened_set *set)
{
    uint32_t n_lost = 0;
    for (uint64_t i = 0; i < set->ds.shape.n_samples; i++) {
        if (opened_read(set, i) != DLB_OK) {
            assert_true(set->err.what[0] && strstr(set->err.path, "a.mdb"));
            n_lost++;
            continue;
        }
        for (size_t k = 0; k < set->sample.field[0].len_bytes; k++)
            assert_int_equal(set->sample.field[0].data[k], i % 255 + 1);
    }
    return n_lost;
}

static void cut_before(void **state)
{
    size_t n;
    (void)state;
    write_database(N);
    uint8_t *good = folder_read("a.mdb", &n);
    for (size_t cut = 0; cut < n; cut += cut < 8192 ? 61 : 4096 * 37 + 1) {
        struct opened_set set;
        folder_write("a.mdb", good, cut);
        int rc = opened_open(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
        if (rc == DLB_OK) {
            assert_true(read_all(&set) > 0);
            opened_close(&set);
        } else {
            assert_true(cut > 4096 + 152 || rc == DLB_E_FORMAT);
            assert_true(set.err.what[0] && strstr(set.err.path, "a.mdb"));
        }
    }
    folder_write("a.mdb", "", 0);
    opened_refused_as("lmdb", folder_path("a.mdb"), NULL, DLB_ERR_FILE_CUT_SHORT, "a.mdb", "");
    free(good);
}

/* Of each length: pages of the tree and of values that are gone while a reader has them mapped. */
static void cut_under_a_reader(void **state)
{
    size_t n;
    (void)state;
    write_database(N);
    uint8_t *good = folder_read("a.mdb", &n);
    for (size_t left = n - 1; left > n / 12; left = left * 4 / 5) {
        struct opened_set set;
        folder_write("a.mdb", good, n);
        opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
        assert_int_equal(opened_read(&set, N / 2), DLB_OK);
        folder_cut("a.mdb", left);
        uint32_t n_lost = read_all(&set);
        assert_true(left > n - 4096 || n_lost > 0);
        opened_close(&set);
        /* The next one starts afresh: marks of old maps are gone. */
        folder_write("a.mdb", good, n);
        opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
        assert_int_equal(read_all(&set), 0);
        opened_close(&set);
    }
    free(good);
}

static void with(uint8_t *good, size_t n, size_t at, uint64_t value, size_t width,
                 enum dlb_code code, const char *figure)
{
    uint8_t kept[8];
    memcpy(kept, good + at, width);
    for (size_t i = 0; i < width; i++)
        good[at + i] = (uint8_t)(value >> (8 * i));
    folder_write("a.mdb", good, n);
    opened_refused_as("lmdb", folder_path("a.mdb"), NULL, code, "a.mdb", figure);
    memcpy(good + at, kept, width);
}

static void meta_pages(void **state)
{
    size_t n;
    struct opened_set set;
    (void)state;
    write_database(3);
    uint8_t *good = folder_read("a.mdb", &n);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t meta = 0; meta <= page; meta += page) {
        with(good, n, meta + 10, 0, 2, DLB_ERR_FILE_NOT_OF_FORMAT, "");
        with(good, n, meta + 16, 0xBEEFC0DF, 4, DLB_ERR_FILE_NOT_OF_FORMAT, "");
        with(good, n, meta + 20, 2, 4, DLB_ERR_FILE_VERSION_UNKNOWN, "version 2");
        with(good, n, meta + 20, 999, 4, DLB_ERR_FILE_VERSION_UNKNOWN, "version 999");
        with(good, n, meta + 32, UINT64_MAX, 8, DLB_ERR_LMDB_DAMAGED, " 18446744073709551615 ");
        with(good, n, meta + 40, 0, 4, DLB_ERR_LMDB_DAMAGED, " 0 ");
        with(good, n, meta + 40, 4095, 4, DLB_ERR_LMDB_DAMAGED, " 4095 ");
        with(good, n, meta + 40, 1U << 31, 4, DLB_ERR_LMDB_DAMAGED, " 2147483648 ");
        with(good, n, meta + 136, UINT64_C(1) << 60, 8, DLB_ERR_LMDB_DAMAGED,
             " 1152921504606846976 ");
    }
    with(good, n, 40, page * 2, 4, DLB_ERR_FILE_NOT_OF_FORMAT, "");
    with(good, n, page + 40, page * 2, 4, DLB_ERR_LMDB_DAMAGED, "");
    /* Whatever else a flipped bit there says, nothing crashes and no wrong byte comes out. */
    for (size_t bit = 0; bit < (16 + 136) * 8; bit++) {
        size_t at = bit / 8;
        uint8_t *byte = good + (bit % 2 ? at : page + at);
        *byte ^= (uint8_t)(1U << bit % 8);
        folder_write("a.mdb", good, n);
        *byte ^= (uint8_t)(1U << bit % 8);
        if (opened_open(&set, "lmdb", "raw", folder_path("a.mdb"), NULL) == DLB_OK) {
            (void)read_all(&set);
            opened_close(&set);
        } else {
            assert_true(set.err.what[0] != '\0');
        }
    }
    free(good);
}

/* Small values: pages of the tree hold them, and there are branches. */
static void write_tree(int n)
{
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    char key[16];
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("a.mdb"), &err), DLB_OK);
    for (int i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "%08d", i);
        assert_int_equal(dlb_lmdb_put(writer, key, 8, "0123456789", 10, &err), DLB_OK);
    }
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
}

static bool survives(const uint8_t *bytes, size_t n, const char *words)
{
    struct opened_set set;
    folder_write("a.mdb", bytes, n);
    int rc = opened_open(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    if (rc != DLB_OK) {
        assert_true(set.err.what[0] && strstr(set.err.path, "a.mdb"));
        return strstr(set.err.what, words) != NULL;
    }
    for (uint64_t i = 0; i < set.ds.shape.n_samples; i++)
        (void)opened_read(&set, i);
    opened_close(&set);
    return false;
}

/* Headers, offsets of nodes and what the last nodes say: some of it crashes liblmdb, whatever its
 * version, and this process lives on. */
static void tree_pages(void **state)
{
    static const size_t at[] = {8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 30, 31};
    size_t n, page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t n_crashed = 0;
    (void)state;
    write_tree(800);
    uint8_t *bytes = folder_read("a.mdb", &n);
    for (size_t start = 2 * page; start < n; start += page) {
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            for (unsigned bit = 0; bit < 8; bit += 3) {
                bytes[start + at[i]] ^= (uint8_t)(1U << bit);
                n_crashed += survives(bytes, n, "crashed (");
                bytes[start + at[i]] ^= (uint8_t)(1U << bit);
            }
        uint8_t kept[64];
        memcpy(kept, bytes + start + 16, sizeof kept);
        memset(bytes + start + 16, 0xff, sizeof kept);
        n_crashed += survives(bytes, n, "crashed (");
        memcpy(bytes + start + 16, kept, sizeof kept);
    }
    free(bytes);
    printf("liblmdb crashed on %u of them\n", n_crashed);
}

static void other_things(void **state)
{
    (void)state;
    opened_refused_as("lmdb", folder_path("none"), NULL, DLB_ERR_NOT_FOUND, "none", "");
    opened_refused_as("lmdb", folder, NULL, DLB_ERR_DATASET_EMPTY, "", "data.mdb");
    uint8_t text[9000];
    memset(text, 'x', sizeof text);
    folder_write("a.mdb", text, sizeof text);
    opened_refused_as("lmdb", folder_path("a.mdb"), NULL, DLB_ERR_FILE_NOT_OF_FORMAT, "a.mdb", "");
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("e.mdb"), &err), DLB_OK);
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
    opened_refused_as("lmdb", folder_path("e.mdb"), NULL, DLB_ERR_DATASET_EMPTY, "e.mdb", "");
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("no/such/folder"), &err), DLB_E_IO);
    dlb_lmdb_abandon(writer);
    if (geteuid() != 0) { /* root reads all */
        assert_int_equal(chmod(folder_path("a.mdb"), 0), 0);
        opened_refused_as("lmdb", folder_path("a.mdb"), NULL, DLB_ERR_PERMISSION, "a.mdb", "");
    }
}

/* Somebody else removes a sample and writes on. */
static void written_meanwhile(void **state)
{
    struct opened_set set;
    (void)state;
    write_database(N);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    dataset_reader_free(&set.ds, set.reader);
    /* Another database under the same name: fewer keys. */
    struct dlb_lmdb_writer *writer;
    assert_int_equal(remove(folder_path("a.mdb")), 0);
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("a.mdb"), &set.err), DLB_OK);
    assert_int_equal(dlb_lmdb_put(writer, "00000000", 8, "x", 1, &set.err), DLB_OK);
    assert_int_equal(dlb_lmdb_finish(writer, &set.err), DLB_OK);
    dlb_lmdb_abandon(writer);
    set.reader = dataset_reader(&set.ds);
    assert_int_equal(opened_read(&set, 0), DLB_OK);
    opened_is(&set, "x", 1);
    assert_int_equal(opened_read(&set, 1), DLB_E_FORMAT);
    assert_int_equal(set.err.code, DLB_ERR_LMDB_KEY_GONE);
    assert_non_null(strstr(set.err.what, "\"00000001\""));
    opened_close(&set);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(cut_before),   TEST(cut_under_a_reader), TEST(meta_pages),
        TEST(other_things), TEST(written_meanwhile),  TEST(tree_pages),
    };
    if (dlb_lmdb_missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
