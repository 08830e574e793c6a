#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/rng.h"
#include "loaders/train/idle.h"
#include "loaders/train/window.h"

static void fills_the_gap(const struct dlb_idle *idle, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < idle->n; i++) {
        assert_int_equal(idle->piece[i].start_ns, from);
        assert_true(idle->piece[i].end_ns > from);
        from = idle->piece[i].end_ns;
        if (i > 0) /* two "others" would be one */
            assert_false(idle->piece[i].why == DLB_DS_IDLE_OTHER &&
                         idle->piece[i - 1].why == DLB_DS_IDLE_OTHER);
    }
    assert_int_equal(from, to);
}

static void test_pieces_in_order(void **state)
{
    (void)state;
    const struct dlb_step last = {.times.step_end_ns = 1000};
    /* An epoch's end is waited for, then the batch; it is copied; the host starts the step late. */
    const struct dlb_step step = {
        .over_start_ns = 900,
        .over_end_ns = 1100,
        .wait_start_ns = 1150,
        .wait_end_ns = 1300,
        .times = {.copy_start_ns = 1310, .copy_end_ns = 1400, .step_start_ns = 1450}};
    const struct dlb_idle_piece wanted[] = {
        {1000, 1100, DLB_DS_IDLE_INPUT},   {1100, 1150, DLB_DS_IDLE_OTHER},
        {1150, 1300, DLB_DS_IDLE_INPUT},   {1300, 1310, DLB_DS_IDLE_OTHER},
        {1310, 1400, DLB_DS_EXPOSED_COPY}, {1400, 1450, DLB_DS_IDLE_OTHER},
    };
    struct dlb_idle idle = dlb_idle_between(&last, &step);
    fills_the_gap(&idle, 1000, 1450);
    assert_int_equal(idle.n, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < idle.n; i++) {
        assert_int_equal(idle.piece[i].end_ns, wanted[i].end_ns);
        assert_int_equal(idle.piece[i].why, wanted[i].why);
    }
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_INPUT), 250);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_EXPOSED_COPY), 90);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_OTHER), 110);
}

static void test_no_gap(void **state)
{
    (void)state;
    const struct dlb_step last = {.times.step_end_ns = 1000};
    const struct dlb_step step = {
        .wait_start_ns = 100, .wait_end_ns = 200, .times = {200, 300, 1000, 2000, 0}};
    assert_int_equal(dlb_idle_between(&last, &step).n, 0);
}

static uint64_t overlap_ns(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t from = a > c ? a : c, to = b < d ? b : d;
    return to > from ? to - from : 0;
}

/* Of any stamps in their order the sums are overlaps with the gap, computed one by one. */
static void test_sums_are_overlaps(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    for (int i = 0; i < 20000; i++) {
        uint64_t at[8], now = 1000;
        for (int k = 0; k < 8; k++)
            at[k] = now += dlb_rng_below(&rng, 100);
        uint64_t from = 1000 + dlb_rng_below(&rng, 500);
        uint64_t to = at[6] > from ? at[6] : from;
        const struct dlb_step last = {.times.step_end_ns = from};
        const struct dlb_step step = {.over_start_ns = at[0],
                                      .over_end_ns = at[1],
                                      .wait_start_ns = at[2],
                                      .wait_end_ns = at[3],
                                      .times = {at[4], at[5], to, to + 10, 0}};
        struct dlb_idle idle = dlb_idle_between(&last, &step);
        fills_the_gap(&idle, from, to);
        uint64_t input_ns = overlap_ns(from, to, at[0], at[1]) + overlap_ns(from, to, at[2], at[3]);
        assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_INPUT), input_ns);
        assert_int_equal(dlb_idle_ns(&idle, DLB_DS_EXPOSED_COPY),
                         overlap_ns(from, to, at[4], at[5]));
    }
}

/* At a barrier the reason is that of the accelerator that came last. */
static void test_held(void **state)
{
    (void)state;
    const struct dlb_step last = {.times.step_end_ns = 1000};
    const struct dlb_step step = {.wait_start_ns = 500,
                                  .wait_end_ns = 600,
                                  .held_until_ns = 1300,
                                  .held_input_ns = 200,
                                  .times = {600, 700, 1310, 2000, 0}};
    struct dlb_idle idle = dlb_idle_between(&last, &step);
    fills_the_gap(&idle, 1000, 1310);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_INPUT), 200);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_OTHER), 110);
}

/* What this accelerator did meanwhile held nobody. */
static void test_own_reasons_count_behind_the_barrier(void **state)
{
    (void)state;
    const struct dlb_step last = {.times.step_end_ns = 1000};
    const struct dlb_step step = {.over_start_ns = 1000,
                                  .over_end_ns = 1150,
                                  .wait_start_ns = 1150,
                                  .wait_end_ns = 1250,
                                  .held_until_ns = 1300,
                                  .held_input_ns = 100,
                                  .times = {1250, 1350, 1360, 2000, 0}};
    struct dlb_idle idle = dlb_idle_between(&last, &step);
    fills_the_gap(&idle, 1000, 1360);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_INPUT), 100);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_EXPOSED_COPY), 50);
    assert_int_equal(dlb_idle_ns(&idle, DLB_DS_IDLE_OTHER), 210);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_in_order),
        cmocka_unit_test(test_no_gap),
        cmocka_unit_test(test_sums_are_overlaps),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_own_reasons_count_behind_the_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
