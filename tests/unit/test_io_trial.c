/* How a worker chooses between io_uring and one read after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loaders/worker/io_trial.h"

#include <string.h>

/* Batches of 10 samples that take so long, of each way, until the trial is over; the first of each
 * way take `first_ns`, and batch `hit` a hundred times as long. Returns how many they were. */
static uint32_t try_out(struct dlb_io_trial *trial, uint64_t sync_ns, uint64_t uring_ns,
                        uint64_t first_ns, uint32_t hit)
{
    uint32_t n = 0;
    bool over = false;
    while (!over && n < 100) {
        uint64_t ns = dlb_io_trial_uring(trial) ? uring_ns : sync_ns;
        if (n < 2)
            ns = first_ns;
        over = dlb_io_trial_add(trial, n == hit ? 100 * ns : ns, 10);
        n++;
    }
    return n;
}

static void test_the_faster_is_chosen(void **state)
{
    (void)state;
    for (int faster = 0; faster < 2; faster++) {
        struct dlb_io_trial trial = {0};
        uint32_t n = try_out(&trial, faster ? 2000 : 1000, faster ? 1000 : 2000, 3000, UINT32_MAX);
        assert_int_equal(n, 2 * DLB_IO_TRIAL_BATCHES);
        assert_true(trial.over);
        assert_int_equal(trial.uring, faster);
        assert_int_equal(dlb_io_trial_uring(&trial), faster);
        assert_false(dlb_io_trial_add(&trial, 1, 10)); /* nothing changes it */
        assert_int_equal(dlb_io_trial_uring(&trial), faster);
    }
}

/* Neither what the first batches pay for, nor a batch that others held up. */
static void test_what_does_not_count(void **state)
{
    (void)state;
    for (uint32_t hit = 0; hit < 2 * DLB_IO_TRIAL_BATCHES; hit++)
        for (int faster = 0; faster < 2; faster++) {
            struct dlb_io_trial trial = {0};
            (void)try_out(&trial, faster ? 1100 : 1000, faster ? 1000 : 1100, 900000, hit);
            assert_int_equal(trial.uring, faster);
        }
}

/* Ways take turns; a batch without samples says nothing; sizes of batches do not matter. */
static void test_turns(void **state)
{
    (void)state;
    struct dlb_io_trial trial = {0};
    assert_true(dlb_io_trial_uring(&trial));
    assert_false(dlb_io_trial_add(&trial, 1000, 0));
    assert_true(dlb_io_trial_uring(&trial));
    assert_int_equal(trial.n, 0);
    for (uint32_t i = 0; i < 2 * DLB_IO_TRIAL_BATCHES; i++) {
        bool uring = dlb_io_trial_uring(&trial);
        assert_int_equal(uring, i % 2 == 0);
        /* 100 ns a sample by io_uring, in batches of 1, 2, 3 ...; else 200 ns. */
        assert_int_equal(dlb_io_trial_add(&trial, (uring ? 100 : 200) * (i + 1), i + 1),
                         i + 1 == 2 * DLB_IO_TRIAL_BATCHES);
    }
    assert_true(trial.uring);
}

static void test_text(void **state)
{
    (void)state;
    struct dlb_io_trial trial = {0};
    char text[160];
    dlb_io_trial_text(&trial, text, sizeof text);
    assert_non_null(strstr(text, " 0"));
    (void)try_out(&trial, 70000, 20000, 1, UINT32_MAX);
    dlb_io_trial_text(&trial, text, sizeof text);
    const char *uring = strstr(text, "2 us"), *sync = strstr(text, "7 us");
    assert_true(uring && sync && uring < sync);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_faster_is_chosen),
        cmocka_unit_test(test_what_does_not_count),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
