/* LMDB files that somebody wrote to mislead: trees that lead to the same page again and again,
 * entries that the file has no room for. Each is refused, and soon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/lmdb/lmdb.h"
#include "tests/support/opened.h"
#include "tests/support/lmdb_pages.h"

#include <unistd.h>

enum { SOON_S = 60 };

static void refused(const char *figure)
{
    opened_refused_as("lmdb", folder_path("a.mdb"), NULL, DLB_ERR_LMDB_DAMAGED, "a.mdb", figure);
}

/* What the others write is read, where it is in order: two leaves, a value on a page of its own. */
static void pages_by_hand_are_read(void **state)
{
    (void)state;
    static struct lmdb_pages db;
    struct opened_set set;
    db.n = 0;
    uint32_t root = lmdb_page(&db, LMDB_BRANCH), left = lmdb_page(&db, LMDB_LEAF);
    uint32_t right = lmdb_page(&db, LMDB_LEAF), large = lmdb_page(&db, LMDB_OVERFLOW);
    lmdb_put(db.page[large] + 12, 1, 4); /* pages */
    memset(db.page[large] + LMDB_HEAD, 'v', 3000);
    lmdb_child(&db, root, "", left);
    lmdb_child(&db, root, "c", right);
    lmdb_entry(&db, left, "a", "first");
    lmdb_entry(&db, left, "ab", "second");
    lmdb_entry(&db, right, "c", "third");
    lmdb_large_entry(&db, right, "d", 3000, large);
    lmdb_write(&db, "a.mdb", root, 2, 4);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(set.ds.shape.n_samples, 4);
    assert_int_equal(set.ds.shape.total_bytes, 5 + 6 + 5 + 3000);
    assert_int_equal(set.ds.shape.n_odd, 0);
    assert_int_equal(opened_read(&set, 1), DLB_OK);
    opened_is(&set, "second", 6);
    assert_int_equal(opened_read(&set, 2), DLB_OK);
    opened_is(&set, "third", 5);
    assert_int_equal(opened_read(&set, 3), DLB_OK);
    opened_is(&set, db.page[large] + LMDB_HEAD, 3000);
    opened_close(&set);
}

/* n_levels of branches with n_ways each, all of them to the same page below. */
static void write_maze(uint32_t n_levels, uint32_t n_ways, const char *key, uint64_t n_entries)
{
    static struct lmdb_pages db;
    char from[16];
    db.n = 0;
    for (uint32_t level = 0; level < n_levels; level++) {
        uint32_t branch = lmdb_page(&db, LMDB_BRANCH);
        for (uint32_t way = 0; way < n_ways; way++) {
            (void)snprintf(from, sizeof from, "%04u", way);
            lmdb_child(&db, branch, way ? from : "", branch + 1);
        }
    }
    lmdb_entry(&db, lmdb_page(&db, LMDB_LEAF), key, "sample");
    lmdb_write(&db, "a.mdb", LMDB_FIRST, n_levels + 1, n_entries);
}

/* 150 to the power of 12 ways to one entry. */
static void a_maze_ends(void **state)
{
    (void)state;
    static const struct {
        const char *key, *prefix;
    } rows[] = {{"__a__", ""}, {"k", ""}, {"0000", "0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct {
            bool readahead;
            char prefix[DLB_OPT_STRING_CAP];
        } opts = {.readahead = false};
        (void)snprintf(opts.prefix, sizeof opts.prefix, "%s", rows[i].prefix);
        for (uint64_t n_entries = 1; n_entries <= 1000; n_entries *= 1000) {
            write_maze(12, 150, rows[i].key, n_entries);
            (void)alarm(SOON_S);
            opened_refused_as("lmdb", folder_path("a.mdb"), &opts, DLB_ERR_LMDB_DAMAGED, "a.mdb",
                              rows[i].key);
            (void)alarm(0);
        }
    }
}

/* One entry, shown 50 times. */
static void no_sample_is_invented(void **state)
{
    (void)state;
    for (uint64_t n_entries = 1; n_entries <= 50; n_entries += 49) {
        write_maze(1, 50, "0000", n_entries);
        refused("\"0000\"");
    }
}

static void write_leaf(const char *const *keys, uint64_t n_entries)
{
    static struct lmdb_pages db;
    db.n = 0;
    uint32_t leaf = lmdb_page(&db, LMDB_LEAF);
    for (size_t i = 0; keys[i]; i++)
        lmdb_entry(&db, leaf, keys[i], "v");
    lmdb_write(&db, "a.mdb", leaf, 1, n_entries);
}

static void keys_ascend(void **state)
{
    (void)state;
    struct opened_set set;
    write_leaf((const char *[]){"a", "aa", "b", NULL}, 3);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(set.ds.shape.n_samples, 3);
    opened_close(&set);
    write_leaf((const char *[]){"a", "a", NULL}, 2);
    refused("\"a\"");
    write_leaf((const char *[]){"a", "ab", "aa", NULL}, 3);
    refused("\"aa\"");
    write_leaf((const char *[]){"a", "b", "c", NULL}, 2); /* the root counts two */
    refused(" 2 ");
}

/* Each key leads to the same value, and they have more bytes than the file. */
static void a_value_is_not_shared(void **state)
{
    (void)state;
    static struct lmdb_pages db;
    char key[8];
    db.n = 0;
    uint32_t leaf = lmdb_page(&db, LMDB_LEAF), large = lmdb_page(&db, LMDB_OVERFLOW);
    lmdb_put(db.page[large] + 12, 1, 4);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(key, sizeof key, "%03d", i);
        lmdb_large_entry(&db, leaf, key, 4000, large);
    }
    lmdb_write(&db, "a.mdb", leaf, 1, 20);
    refused(" 16384");
}

/* What the root counts becomes a limit, and is no larger than the file can hold. */
static void a_root_that_counts_too_many(void **state)
{
    (void)state;
    write_leaf((const char *[]){"a", "b", NULL}, UINT64_MAX / 2);
    refused(" 9223372036854775807 ");
    write_leaf((const char *[]){"a", "b", NULL}, 2000);
    refused(" 2000 ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(pages_by_hand_are_read), TEST(no_sample_is_invented),       TEST(keys_ascend),
        TEST(a_value_is_not_shared),  TEST(a_root_that_counts_too_many), TEST(a_maze_ends),
    };
    if (dlb_lmdb_missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
