/* What the judge takes as gain: each repetition beside the ceiling of its block. */
#include "core/measure/gain.h"
#include "scenarios/judge/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/judged.h"

static const char *const workers[] = {"sweep.loader.num_workers=[1, 2]", "device.step_ms=100",
                                      NULL};

static void add_ceilings(struct judged *t, const double *rates, uint32_t n)
{
    for (uint32_t block = 0; block < n; block++)
        put(&t->results.ceilings[0], rep(rates[block], 1, block, 0));
}

static const struct dlb_gain *gain_of(const struct judged *t, uint32_t cell)
{
    return &t->j.cells[cell].evidence.gain;
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value / wanted - 1) < 1e-6))
        fail_msg("%.9g is not %.9g", value, wanted);
}

/* Each cell at 1,000 samples/s in its window, below a ceiling of 2,000; `within`: epochs. */
static void judge_within(struct judged *t, const struct dlb_stretch within[2])
{
    for (uint32_t cell = 0; cell < 2; cell++)
        for (uint32_t block = 0; block < 3; block++) {
            struct dlb_cell_result one = rep(1000, 0.5, block, 1000);
            one.loop.pace.round = 1;
            one.loop.pace.n_epoch_batches = 100;
            one.loop.pace.within = within[cell];
            put(&t->results.cells[cell], one);
        }
    add_ceilings(t, (const double[]){2000, 2000, 2000}, 3);
    judge(t);
}

/* The window is faster or slower than what cells are ranked by: the gain is of the latter. */
static void test_of_the_ranked_rate(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    const struct dlb_stretch within = {.n_steps = 50, /* 8 ms each instead of 10 */
                                       .n_samples = 500,
                                       .ns = 400000000,
                                       .busy_ns = 200000000,
                                       .idle_input_ns = 200000000};
    judge_within(&t, (const struct dlb_stretch[]){within, within});
    assert_int_equal(t.j.ranked_by, DLB_RATE_WITHIN);
    assert_near(gain_of(&t, 0)->median, 1.6);
    close_judged(&t);
}

/* One cell has no rate within epochs, so that all are ranked by the window: shares and gain of each
 * are those of the window. */
static void test_shares_are_of_the_ranked_rate(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    const struct dlb_stretch within = {
        .n_steps = 50, .n_samples = 500, .ns = 260000000, .busy_ns = 250000000};
    judge_within(&t, (const struct dlb_stretch[]){within, {.n_steps = 0}});
    assert_int_equal(t.j.ranked_by, DLB_RATE_WINDOW);
    assert_near(gain_of(&t, 0)->median, 2);
    assert_near(t.j.cells[0].evidence.input_frac, 0.5);
    assert_near(t.j.cells[0].evidence.compute_frac, 0.5);
    assert_verdict(&t, 0, "INPUT_BOUND");
    close_judged(&t);
}

/* A block that lacks one of the two is left out; a single one has no interval. */
static void test_blocks_are_paired(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){1000, 2000, 4000}, 3, 1000);
    add(&t, 1, (const double[]){1000}, 1, 1000);
    add_ceilings(&t, (const double[]){2000, 4000}, 2);
    judge(&t);
    assert_int_equal(gain_of(&t, 0)->n, 2);
    assert_near(gain_of(&t, 0)->median, 2);
    assert_near(gain_of(&t, 0)->high, 2);
    assert_int_equal(gain_of(&t, 1)->n, 1);
    assert_near(gain_of(&t, 1)->median, 2);
    assert_true(isnan(gain_of(&t, 1)->low) && isnan(gain_of(&t, 1)->high));
    assert_verdict(&t, 1, "INPUT_BOUND");
    close_judged(&t);
}

static void test_no_ceiling(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){1000, 1000}, 2, 1000);
    judge(&t);
    assert_int_equal(gain_of(&t, 0)->n, 0);
    assert_true(isnan(gain_of(&t, 0)->median));
    assert_int_equal(t.j.cells[0].status, DLB_CELL_OK);
    assert_int_equal(t.j.cells[1].status, DLB_CELL_SKIPPED);
    assert_verdict(&t, 0, "INPUT_BOUND");
    close_judged(&t);
}

/* The same gain, with more and with less noise. */
static void test_noise_decides_between_the_classes(void **state)
{
    (void)state;
    static const struct {
        double rate, off;
        const char *code;
    } rows[] = {
        {1000, 1, "INPUT_BOUND"},
        {1000, 100, "BORDERLINE"},
        {1190, 1, "COMPUTE_BOUND"},
        {1190, 100, "BORDERLINE"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged t;
        open_judged(&t, workers);
        for (uint32_t cell = 0; cell < 2; cell++)
            for (uint32_t block = 0; block < 3; block++) {
                double off = rows[i].off * ((block + cell) % 3 - 1.0);
                put(&t.results.cells[cell], rep(rows[i].rate + off, rows[i].rate / 1200, block, 0));
            }
        add_ceilings(&t, (const double[]){1200, 1200, 1200}, 3);
        judge(&t);
        assert_verdict(&t, 0, rows[i].code);
        assert_verdict(&t, 1, rows[i].code);
        close_judged(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_are_of_the_ranked_rate),
        cmocka_unit_test(test_of_the_ranked_rate),
        cmocka_unit_test(test_blocks_are_paired),
        cmocka_unit_test(test_no_ceiling),
        cmocka_unit_test(test_noise_decides_between_the_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
