/* LMDB: the child process that lists the keys answers what cannot be, as one that a hostile file
 * has taken over may do. Its parent refuses each such answer, and believes no other figure of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/lmdb/answer.h"
#include "formats/lmdb/lmdb.h"
#include "tests/support/opened.h"

enum { N = 20, KEY = 8, VALUE = 30, PAST = 511 };

/* What the child says instead of the truth. */
static struct lie {
    enum { TRUTH, FACTS, ENDS } of;
    size_t at; /* of the figure */
    uint64_t figure;
    size_t n_bytes;
} lie;

bool __real_dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes);
bool __real_dlb_pass_array(struct dlb_pipe *pipe, void **array, uint64_t n, size_t each_bytes);
bool __wrap_dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes);
bool __wrap_dlb_pass_array(struct dlb_pipe *pipe, void **array, uint64_t n, size_t each_bytes);

/* What is longer than the figure is filled with its lowest byte. */
static void tell(void *data)
{
    if (lie.n_bytes > sizeof lie.figure)
        memset((uint8_t *)data + lie.at, (int)(lie.figure & 0xff), lie.n_bytes);
    else
        memcpy((uint8_t *)data + lie.at, &lie.figure, lie.n_bytes);
}

/* In the child only its copy is changed: its own checks have looked at nothing yet. */
bool __wrap_dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes)
{
    struct dlb_lmdb_facts told;
    if (!pipe->tells || lie.of != FACTS || n_bytes != sizeof told)
        return __real_dlb_pass(pipe, data, n_bytes);
    memcpy(&told, data, sizeof told);
    tell(&told);
    return __real_dlb_pass(pipe, &told, sizeof told);
}

bool __wrap_dlb_pass_array(struct dlb_pipe *pipe, void **array, uint64_t n, size_t each_bytes)
{
    uint64_t told[N];
    void *other = told;
    if (!pipe->tells || lie.of != ENDS || each_bytes != sizeof *told || n != N)
        return __real_dlb_pass_array(pipe, array, n, each_bytes);
    memcpy(told, *array, sizeof told);
    tell(told);
    return __real_dlb_pass_array(pipe, &other, n, each_bytes);
}

static void write_database(void)
{
    struct dlb_lmdb_writer *writer;
    struct dlb_err err;
    char key[16], value[VALUE];
    memset(value, 'v', sizeof value);
    assert_int_equal(dlb_lmdb_create(&writer, folder_path("a.mdb"), &err), DLB_OK);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key, sizeof key, "%08d", i);
        assert_int_equal(dlb_lmdb_put(writer, key, KEY, value, VALUE, &err), DLB_OK);
    }
    assert_int_equal(dlb_lmdb_finish(writer, &err), DLB_OK);
    dlb_lmdb_abandon(writer);
}

static void the_truth_is_believed(void **state)
{
    (void)state;
    struct opened_set set;
    write_database();
    lie = (struct lie){.of = TRUTH};
    opened_must(&set, "lmdb", "raw", folder_path("a.mdb"), NULL);
    assert_int_equal(set.ds.shape.n_samples, N);
    assert_int_equal(set.ds.shape.total_bytes, N * VALUE);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(opened_read(&set, i), DLB_OK);
        assert_int_equal(set.sample.field[0].len_bytes, VALUE);
    }
    opened_close(&set);
}

#define FACT(member, figure)                                                                       \
    {                                                                                              \
        FACTS, offsetof(struct dlb_lmdb_facts, member), (figure),                                  \
            sizeof((struct dlb_lmdb_facts *)0)->member                                             \
    }
#define END(i, figure)                                                                             \
    {                                                                                              \
        ENDS, (i) * sizeof(uint64_t), (figure), sizeof(uint64_t)                                   \
    }

static void a_lie_is_refused(void **state)
{
    (void)state;
    static const struct lie lies[] = {
        FACT(n_keys, N + 1), /* more than the root counts */
        FACT(n_keys, UINT64_MAX),
        FACT(n_keys, UINT64_MAX / sizeof(uint64_t) + 1),
        FACT(n_keys, N - 1), /* fewer than ends and keys */
        FACT(n_keys, 0),
        FACT(n_key_bytes, 0),
        FACT(n_key_bytes, N * KEY - 1),
        FACT(n_key_bytes, N * KEY + 1),
        FACT(n_key_bytes, UINT64_C(1) << 46),
        FACT(total_bytes, UINT64_MAX), /* more than the file has */
        FACT(most_bytes, N * VALUE + 1),
        FACT(n_about, 1), /* all of its entries are samples */
        FACT(n_about, UINT64_MAX - N + 1),
        FACT(n_databases, 1),
        FACT(n_databases, UINT64_MAX),
        FACT(n_empty, N + 1),
        FACT(database, 'x'), /* a name that does not end */
        FACT(labelled, 2),
        FACT(labelled, 0xff),
        FACT(described, 2),
        END(0, 0),
        END(0, PAST), /* as long as a key may be, and behind the last one */
        END(0, PAST + 1),
        END(0, UINT64_C(1) << 46),
        END(3, 3 * KEY), /* a key without a byte */
        END(3, 2 * KEY), /* a key of less than none */
        END(N - 1, N * KEY - 1),
        END(N - 1, N * KEY + 1),
        END(N - 1, UINT64_MAX),
    };
    write_database();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        lie = lies[i];
        opened_refused_as("lmdb", folder_path("a.mdb"), NULL, DLB_ERR_CHILD_GAVE_UP, "a.mdb", "");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(the_truth_is_believed),
        TEST(a_lie_is_refused),
    };
    if (dlb_lmdb_missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
