#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loaders/window.h"

#include <stdlib.h>

/* Steps with stamps laid out by hand: all numbers are exact. */
static struct dlb_step step(uint64_t wait_from, uint64_t wait_to, uint64_t copy_to, uint64_t from,
                            uint64_t to)
{
    return (struct dlb_step){.times = {.copy_start_ns = wait_to,
                                       .copy_end_ns = copy_to,
                                       .step_start_ns = from,
                                       .step_end_ns = to},
                             .wait_start_ns = wait_from,
                             .wait_end_ns = wait_to,
                             .n_samples = 10,
                             .n_bytes = 100};
}

static struct dlb_consumed *consumed(void)
{
    struct dlb_consumed *out = calloc(1, sizeof *out);
    assert_non_null(out);
    return out;
}

static void each_gap_has_its_owner(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    struct dlb_step s;

    dlb_window_open(&window, 1, 0, 100);
    s = step(0, 10, 20, 20, 120); /* warm-up */
    dlb_window_add(&window, &s, out);
    assert_int_equal(window.share.n_steps, 0);
    s = step(20, 150, 160, 160, 260); /* the window starts at 160 */
    dlb_window_add(&window, &s, out);
    assert_int_equal(window.share.window_ns, 0);
    s = step(270, 300, 340, 350, 450); /* idle 260..350: 10 other, 30 input, 40 copy, 10 other */
    dlb_window_add(&window, &s, out);
    assert_int_equal(window.share.n_steps, 1);
    assert_int_equal(window.share.window_ns, 350 - 160);
    assert_int_equal(window.share.busy_ns, 100);
    assert_int_equal(window.share.idle_input_ns, 30);
    assert_int_equal(window.share.idle_copy_ns, 40);
    assert_int_equal(window.share.idle_other_ns, 20);
    s = step(350, 400, 420, 450, 500); /* everything hidden behind compute */
    dlb_window_add(&window, &s, out);
    assert_int_equal(window.share.n_steps, 2);
    assert_int_equal(window.share.n_samples, 20);
    assert_int_equal(window.share.n_bytes, 200);
    assert_int_equal(window.share.window_ns, 450 - 160);
    assert_int_equal(window.share.busy_ns, 200);
    assert_int_equal(
        window.share.idle_input_ns + window.share.idle_copy_ns + window.share.idle_other_ns, 90);
    free(out);
}

/* N steps over N intervals: a fencepost would show as utilisation above 1 or below. */
static void back_to_back_steps_are_all_busy(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;

    dlb_window_open(&window, 0, 0, 100);
    for (uint64_t i = 0; i < 50; i++) {
        struct dlb_step s = step(i * 7, i * 7, i * 7, i * 7, i * 7 + 7);
        dlb_window_add(&window, &s, out);
    }
    assert_int_equal(window.share.n_steps, 49);
    assert_int_equal(window.share.window_ns, 49 * 7);
    assert_int_equal(window.share.busy_ns, window.share.window_ns);
    free(out);
}

static void epoch_gaps_are_kept(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    struct dlb_step s;

    dlb_window_open(&window, 0, 0, 100);
    s = step(0, 0, 0, 0, 10);
    s.first_of_epoch = true;
    dlb_window_add(&window, &s, out);
    s = step(10, 40, 45, 50, 60);
    s.epoch = 1;
    s.first_of_epoch = true;
    dlb_window_add(&window, &s, out);
    assert_int_equal(out->epoch[0].gap_ns, 0);
    assert_int_equal(out->epoch[1].gap_ns, 40);
    assert_int_equal(window.share.epoch_idle_ns, 40);
    assert_int_equal(window.share.epoch_other_ns, window.share.idle_other_ns);
    assert_int_equal(window.share.epoch_other_ns,
                     40 - window.share.idle_input_ns - window.share.idle_copy_ns);
    assert_true(window.share.idle_input_ns > 0);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gap_has_its_owner),
        cmocka_unit_test(back_to_back_steps_are_all_busy),
        cmocka_unit_test(epoch_gaps_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
