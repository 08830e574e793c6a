#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loaders/train/window.h"

#include <math.h>
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

static struct dlb_span span;
static uint64_t nth; /* of the next step in its epoch */

static void open_window(struct dlb_window *window, uint64_t n_warmup, uint64_t n_measured,
                        double step_ns)
{
    span = (struct dlb_span){.n_warmup = n_warmup, .n_measured = n_measured, .round = 1};
    nth = 0;
    dlb_window_open(window,
                    &(struct dlb_window_opts){.round = 1, .n_workers = 1, .step_ns = step_ns});
}

static void add(struct dlb_window *window, struct dlb_step *s, struct dlb_consumed *out)
{
    nth = s->first_of_epoch ? 0 : nth;
    s->nth = nth;
    bool closes = dlb_span_closes(&span, nth);
    s->mark = dlb_span_next(&span, nth++);
    assert_true(closes == (s->mark == DLB_MARK_CLOSE));
    dlb_window_add(window, s, out);
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

    open_window(&window, 1, 0, 100);
    s = step(0, 10, 20, 20, 120); /* warm-up */
    add(&window, &s, out);
    assert_int_equal(window.share.n_steps, 0);
    s = step(20, 150, 160, 160, 260); /* the window starts at 160 */
    add(&window, &s, out);
    assert_int_equal(window.share.window_ns, 0);
    s = step(270, 300, 340, 350, 450); /* idle 260..350: 10 other, 30 input, 40 copy, 10 other */
    add(&window, &s, out);
    assert_int_equal(window.share.n_steps, 1);
    assert_int_equal(window.share.window_ns, 350 - 160);
    assert_int_equal(window.share.busy_ns, 100);
    assert_int_equal(window.share.idle_input_ns, 30);
    assert_int_equal(window.share.idle_copy_ns, 40);
    assert_int_equal(window.share.idle_other_ns, 20);
    s = step(350, 400, 420, 450, 500); /* everything hidden behind compute */
    add(&window, &s, out);
    assert_int_equal(window.share.n_steps, 2);
    assert_int_equal(window.share.n_samples, 20);
    assert_int_equal(window.share.n_bytes, 200);
    assert_int_equal(window.share.window_ns, 450 - 160);
    assert_int_equal(window.share.busy_ns, 200);
    assert_int_equal(
        window.share.idle_input_ns + window.share.idle_copy_ns + window.share.idle_other_ns, 90);
    dlb_window_free(&window);
    free(out);
}

/* N steps over N intervals: a fencepost would show as utilisation above 1 or below. */
static void back_to_back_steps_are_all_busy(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;

    open_window(&window, 0, 0, 100);
    for (uint64_t i = 0; i < 50; i++) {
        struct dlb_step s = step(i * 7, i * 7, i * 7, i * 7, i * 7 + 7);
        add(&window, &s, out);
    }
    assert_int_equal(window.share.n_steps, 49);
    assert_int_equal(window.share.window_ns, 49 * 7);
    assert_int_equal(window.share.busy_ns, window.share.window_ns);
    dlb_window_free(&window);
    free(out);
}

static void epoch_gaps_are_kept(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    struct dlb_step s;

    open_window(&window, 0, 0, 100);
    s = step(0, 0, 0, 0, 10);
    s.first_of_epoch = true;
    add(&window, &s, out);
    s = step(10, 40, 45, 50, 60);
    s.epoch = 1;
    s.first_of_epoch = true;
    add(&window, &s, out);
    assert_int_equal(out->epoch[0].gap_ns, 0);
    assert_int_equal(out->epoch[1].gap_ns, 40);
    assert_int_equal(window.share.epoch_idle_ns, 40);
    assert_int_equal(window.share.epoch_other_ns, window.share.idle_other_ns);
    assert_int_equal(window.share.epoch_other_ns,
                     40 - window.share.idle_input_ns - window.share.idle_copy_ns);
    assert_true(window.share.idle_input_ns > 0);
    dlb_window_free(&window);
    free(out);
}

/* Nothing was left in the epoch before, which took from 120 to 200 to find out: input, but for what
 * the last step hid of it. */
static void an_epochs_end_is_waited_for(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    const struct {
        uint64_t over_from, want_input, want_other;
    } rows[] = {{120, 80 + 30, 40}, {150, 50 + 30, 70}, {20, 100 + 30, 20}, {200, 30, 120}};

    for (int i = 0; i < 4; i++) {
        open_window(&window, 0, 0, 100);
        struct dlb_step s = step(0, 0, 0, 0, 100);
        add(&window, &s, out);
        s = step(210, 240, 250, 260, 360); /* idle 100..260, its own wait 210..240, copy ..250 */
        s.epoch = 1;
        s.first_of_epoch = true;
        s.over_start_ns = rows[i].over_from;
        s.over_end_ns = 200;
        add(&window, &s, out);
        assert_int_equal(window.share.idle_input_ns, rows[i].want_input);
        assert_int_equal(window.share.idle_copy_ns, 10);
        assert_int_equal(window.share.idle_other_ns, rows[i].want_other);
        assert_int_equal(window.share.epoch_other_ns, rows[i].want_other);
        assert_int_equal(window.share.epoch_idle_ns, 160);
        dlb_window_free(&window);
    }
    dlb_window_free(&window);
    free(out);
}

/* A copy of 40 that nothing hides: the loader's, if it was late and no other copy was in the way.
 */
static void copies_of_late_batches_are_told_apart(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    const struct {
        uint64_t last_copy_end;
        bool late;
        uint64_t want;
    } rows[] = {{10, true, 40}, {10, false, 0}, {140, true, 40}, {150, true, 0}};

    for (int i = 0; i < 4; i++) {
        open_window(&window, 0, 0, 100);
        struct dlb_step s = step(0, 0, rows[i].last_copy_end, 0, 100);
        add(&window, &s, out);
        s = step(110, 140, 180, 190,
                 290); /* idle 100..190: 10 other, 30 input, 40 copy, 10 other */
        s.late = rows[i].late;
        add(&window, &s, out);
        assert_int_equal(window.share.idle_input_ns, 30);
        assert_int_equal(window.share.idle_copy_ns, 40);
        assert_int_equal(window.share.idle_other_ns, 20);
        assert_int_equal(window.share.late_copy_ns, rows[i].want);
        dlb_window_free(&window);
    }
    dlb_window_free(&window);
    free(out);
}

/* Who was held waited for what the last one waited for, as long as that one did. */
static void what_a_barrier_holds_has_the_last_ones_reasons(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    const struct {
        uint64_t input_ns, want_input, want_copy, want_other;
    } rows[] = {
        {0, 0, 0, 100},   /* the last one's step was longer */
        {60, 60, 0, 40},  /* its batch came 60 late, and the rest is something else */
        {100, 100, 0, 0}, /* all of it */
        {900, 100, 0, 0}, /* it had waited for longer than this one */
    };
    for (int i = 0; i < 4; i++) {
        open_window(&window, 0, 0, 100);
        struct dlb_step s = step(0, 0, 0, 0, 100);
        add(&window, &s, out);
        s = step(50, 60, 70, 200, 300); /* ready at 70, held until 200 */
        s.held_until_ns = 200;
        s.held_input_ns = rows[i].input_ns;
        add(&window, &s, out);
        assert_int_equal(window.share.idle_input_ns, rows[i].want_input);
        assert_int_equal(window.share.idle_copy_ns, rows[i].want_copy);
        assert_int_equal(window.share.idle_other_ns, rows[i].want_other);
        dlb_window_free(&window);
    }
    /* its own wait and copy count behind the barrier alone: until then they held nobody */
    open_window(&window, 0, 0, 100);
    struct dlb_step s = step(0, 0, 0, 0, 100);
    add(&window, &s, out);
    s = step(110, 150, 180, 200, 300); /* gap 100 to 200: input 110 to 150, copy 150 to 180 */
    s.held_until_ns = 190;
    s.held_input_ns = 30;
    add(&window, &s, out);
    assert_int_equal(window.share.idle_input_ns, 30);
    assert_int_equal(window.share.idle_copy_ns, 0);
    assert_int_equal(window.share.idle_other_ns, 70);
    dlb_window_free(&window);
    free(out);
}

/* Two epochs, each with steps 2 to N over the time from the first one's end to the last one's. */
static void utilisation_is_of_each_epoch(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    const uint64_t starts[2][3] = {{100, 200, 400}, {1000, 1100, 1200}};

    open_window(&window, 1, 0, 90);
    for (uint32_t e = 0; e < 2; e++)
        for (int i = 0; i < 3; i++) {
            uint64_t at = starts[e][i];
            struct dlb_step s = step(at - 10, at - 5, at, at, at + 80);
            s.epoch = e;
            s.first_of_epoch = i == 0;
            add(&window, &s, out);
        }
    dlb_window_close(&window, out);
    const struct dlb_au *au = &window.share.au;
    /* T: 180 to 480, and 1080 to 1280 */
    assert_true(fabs(au->mlperf_v1 - (2 * 90 / 300.0 + 2 * 90 / 200.0) / 2) < 1e-12);
    assert_true(fabs(au->mlperf_v2 - (2 * 80 / 300.0 + 2 * 80 / 200.0) / 2) < 1e-12);
    /* the window runs from the second step's start to the last one's: four intervals */
    assert_int_equal(window.share.window_ns, 1000);
    assert_true(fabs(au->nominal - 4 * 90 / 1000.0) < 1e-12);
    assert_true(fabs(au->measured - 4 * 80 / 1000.0) < 1e-12);
    dlb_window_free(&window);
    free(out);
}

/* Steps after the one that closes the window are not counted. */
static void the_window_ends_after_its_batches(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;

    open_window(&window, 2, 5, 10);
    for (uint64_t i = 0; i < 30; i++) {
        struct dlb_step s = step(i * 10, i * 10, i * 10, i * 10, i * 10 + 10);
        add(&window, &s, out);
    }
    assert_int_equal(window.share.n_steps, 5);
    assert_int_equal(window.share.window_ns, 50);
    assert_int_equal(out->device[DLB_DS_COMPUTE].count, 5);
    dlb_window_free(&window);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gap_has_its_owner),
        cmocka_unit_test(back_to_back_steps_are_all_busy),
        cmocka_unit_test(epoch_gaps_are_kept),
        cmocka_unit_test(an_epochs_end_is_waited_for),
        cmocka_unit_test(copies_of_late_batches_are_told_apart),
        cmocka_unit_test(what_a_barrier_holds_has_the_last_ones_reasons),
        cmocka_unit_test(utilisation_is_of_each_epoch),
        cmocka_unit_test(the_window_ends_after_its_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
