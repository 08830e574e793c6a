/* The array in memory: its content, its size, and sharing by forked workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/hash.h"
#include "tests/support/dataset.h"
#include "tests/support/opened.h"

#include <sys/wait.h>

static const struct {
    int64_t rows, columns;
} small = {1000, 7}, by_gen = {0, 0}, huge = {INT64_C(1000000000000), INT64_C(1) << 32},
  large = {INT64_C(1000000000), INT64_C(1) << 20};

static void rows(void **state)
{
    struct opened_set set, again;
    float row[7];
    double sum = 0, squares = 0;
    (void)state;
    opened_must(&set, "memory", "raw", "", &small);
    opened_must(&again, "memory", "jpeg", "", &small); /* nothing is stored to decode */
    assert_int_equal(set.ds.shape.n_samples, 1000);
    assert_int_equal(set.ds.shape.max_sample_bytes, 28);
    assert_int_equal(set.ds.shape.total_bytes, 28000);
    assert_int_equal(set.ds.shape.element, DLB_ELEMENT_F32);
    assert_int_equal(set.ds.shape.n_classes, 10);
    assert_true(set.ds.shape.id == again.ds.shape.id);
    assert_true(again.ds.codec->identity);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(opened_read(&set, i), DLB_OK);
        assert_int_equal(opened_read(&again, i), DLB_OK);
        opened_is(&again, set.sample.field[0].data, 28);
        assert_int_equal(set.sample.label, i % 10);
        assert_int_equal(set.sample.index, i);
        assert_int_equal(set.sample.io_bytes, 0);
        memcpy(row, set.sample.field[0].data, sizeof row);
        for (int k = 0; k < 7; k++) {
            assert_true(row[k] >= -1 && row[k] < 1);
            sum += (double)row[k];
            squares += (double)row[k] * (double)row[k];
        }
    }
    assert_true(sum / 7000 > -0.05 && sum / 7000 < 0.05);
    assert_true(squares / 7000 > 0.31 && squares / 7000 < 0.36); /* uniform: 1/3 */
    opened_close(&set);
    opened_close(&again);
}

static void places(void **state)
{
    struct opened_set set;
    uint8_t there[64];
    (void)state;
    opened_must(&set, "memory", "raw", "", &small);
    assert_int_equal(opened_read_to(&set, 5, (struct dlb_dest){there, 28}), DLB_OK);
    assert_ptr_equal(set.sample.field[0].data, there);
    assert_int_equal(opened_read_to(&set, 5, (struct dlb_dest){there + 28, 27}), DLB_OK);
    assert_ptr_not_equal(set.sample.field[0].data, there + 28);
    opened_is(&set, there, 28);
    opened_close(&set);
}

/* Any rows in any order, as single reads give them. */
static void many_at_once(void **state)
{
    const uint64_t index[] = {999, 0, 5, 5, 421, 422};
    struct opened_set set;
    uint8_t rows_there[6 * 28];
    uint32_t label[6];
    (void)state;
    opened_must(&set, "memory", "raw", "", &small);
    set.ds.format->reader->read_many(set.reader, index, 6, rows_there, label);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(opened_read(&set, index[i]), DLB_OK);
        opened_is(&set, rows_there + 28 * i, 28);
        assert_int_equal(set.sample.label, label[i]);
    }
    opened_close(&set);
}

static void size_of_generate(void **state)
{
    struct opened_set set;
    (void)state;
    opened_must(&set, "memory", "raw", "", &by_gen);
    assert_int_equal(set.ds.shape.n_samples, opened_gen.samples);
    assert_int_equal(set.ds.shape.max_sample_bytes, opened_gen.sample_bytes);
    opened_close(&set);
    opened_must(&set, "memory", "raw", "", NULL);
    assert_int_equal(set.ds.shape.max_sample_bytes, 400);
    opened_close(&set);
}

static void too_large(void **state)
{
    (void)state;
    opened_refused_as("memory", "", &huge, DLB_ERR_GENERATE_SIZE_UNFIT, "memory", "");
    opened_refused_as("memory", "", &large, DLB_ERR_DATASET_EXCEEDS_MEMORY, "memory",
                      "memory.rows");
}

/* A forked worker reads the parent's pages. */
static void forked(void **state)
{
    struct opened_set set;
    int status = -1;
    (void)state;
    opened_must(&set, "memory", "raw", "", &small);
    assert_int_equal(opened_read(&set, 999), DLB_OK);
    uint64_t want = dlb_hash64(set.sample.field[0].data, 28, 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(opened_read(&set, 999) == DLB_OK &&
                      dlb_hash64(set.sample.field[0].data, 28, 0) == want
                  ? 0
                  : 1);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    opened_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),         cmocka_unit_test(places),
        cmocka_unit_test(many_at_once), cmocka_unit_test(size_of_generate),
        cmocka_unit_test(too_large),    cmocka_unit_test(forked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
