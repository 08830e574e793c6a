/* LMDB: databases inside a database, which are no samples; values of any size, put in any order;
 * keys in other orders than that of their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/lmdb/lmdb.h"
#include "tests/support/error.h"
#include "tests/support/opened.h"

#ifdef DLB_HAVE_LMDB

#include <lmdb.h>

enum { RECORD_BYTES = 48 }; /* as large as the entry of a named database */

static void put(MDB_txn *txn, MDB_dbi dbi, const char *key, const char *value, size_t n_value)
{
    MDB_val mdb_key = {strlen(key), (void *)(uintptr_t)key},
            mdb_value = {n_value, (void *)(uintptr_t)value};
    assert_int_equal(mdb_put(txn, dbi, &mdb_key, &mdb_value, 0), 0);
}

/* a.mdb, with n_named databases of one value each, and n_plain values beside them. */
static void write_named(int n_named, int n_plain)
{
    char name[16], record[RECORD_BYTES];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    memset(record, 'r', sizeof record);
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 8), 0);
    assert_int_equal(mdb_env_open(env, folder_path("a.mdb"), MDB_NOSUBDIR | MDB_NOLOCK, 0666), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    for (int i = 0; i < n_named; i++) {
        (void)snprintf(name, sizeof name, "set-%d", i);
        assert_int_equal(mdb_dbi_open(txn, name, MDB_CREATE, &dbi), 0);
        put(txn, dbi, "inner", "value", 5);
    }
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    for (int i = 0; i < n_plain; i++) {
        (void)snprintf(name, sizeof name, "plain-%d", i);
        put(txn, dbi, name, record, sizeof record);
    }
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void named_alone_are_refused(void **state)
{
    (void)state;
    write_named(2, 0);
    opened_refused_as("lmdb", folder_path("a.mdb"), NULL, DLB_ERR_LMDB_NAMED, "a.mdb", "\"set-0\"");
}

static void named_beside_samples_are_told(void **state)
{
    (void)state;
    struct opened_set set;
    write_named(2, 3);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(set.ds.shape.n_samples, 3);
    assert_int_equal(set.ds.shape.total_bytes, 3 * RECORD_BYTES);
    assert_int_equal(set.ds.shape.n_odd, 1);
    assert_memory_equal(set.ds.shape.odd[0], "2 ", 2);
    assert_non_null(strstr(set.ds.shape.odd[0], "\"set-0\""));
    opened_close(&set);
}

static void samples_of_a_record_s_size(void **state)
{
    (void)state;
    struct opened_set set;
    write_named(0, 3);
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(set.ds.shape.n_samples, 3);
    assert_int_equal(set.ds.shape.n_odd, 0);
    opened_close(&set);
}

/* liblmdb puts it at the very end of the page. */
static void an_empty_value_may_come_first(void **state)
{
    (void)state;
    struct opened_set set;
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    for (int n = 1; n < 4; n++) {
        (void)remove(folder_path("e.mdb"));
        assert_int_equal(dlb_lmdb_create(&writer, folder_path("e.mdb"), &err), DLB_OK);
        for (int i = 0; i < n; i++)
            assert_int_equal(dlb_lmdb_put(writer, &"abc"[i], 1, "vv", (size_t)i, &err), DLB_OK);
        assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
        dlb_lmdb_abandon(writer);
        opened_must(&set, "lmdb", "raw", folder_path("e.mdb"), NULL);
        assert_int_equal(set.ds.shape.n_samples, n);
        assert_int_equal(opened_read(&set, 0), DLB_OK);
        assert_int_equal(set.sample.field[0].len_bytes, 0);
        opened_close(&set);
    }
}

/* From the last byte to the first (MDB_REVERSEKEY), or as whole numbers (MDB_INTEGERKEY): 300 of
 * them, whose bytes from the first to the last do not ascend. */
static void keys_in_the_database_s_own_order(void **state)
{
    enum { N_KEYS = 300 };
    static const unsigned orders[] = {MDB_REVERSEKEY, MDB_INTEGERKEY};
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct opened_set set;
        MDB_env *env;
        MDB_txn *txn;
        MDB_dbi dbi;
        (void)remove(folder_path("o.mdb"));
        assert_int_equal(mdb_env_create(&env), 0);
        assert_int_equal(mdb_env_open(env, folder_path("o.mdb"), MDB_NOSUBDIR | MDB_NOLOCK, 0666),
                         0);
        assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
        assert_int_equal(mdb_dbi_open(txn, NULL, orders[i] | MDB_CREATE, &dbi), 0);
        for (size_t k = 0; k < N_KEYS; k++) {
            size_t number = k * 7 % N_KEYS;
            MDB_val key = {sizeof number, &number}, value = {sizeof number, &number};
            assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
        }
        assert_int_equal(mdb_txn_commit(txn), 0);
        mdb_env_close(env);
        opened_must(&set, "lmdb", "raw", folder_path("o.mdb"), NULL);
        assert_int_equal(set.ds.shape.n_samples, N_KEYS);
        for (size_t k = 0; k < N_KEYS; k++) {
            assert_int_equal(opened_read(&set, k), DLB_OK);
            opened_is(&set, &k, sizeof k);
        }
        opened_close(&set);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(named_alone_are_refused),          TEST(named_beside_samples_are_told),
        TEST(samples_of_a_record_s_size),       TEST(an_empty_value_may_come_first),
        TEST(keys_in_the_database_s_own_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
