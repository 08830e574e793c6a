#include "core/base/rng.h"
#include "core/measure/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%.17g instead of %.17g +- %g", got, want, within);
}

static void medians(void **state)
{
    (void)state;
    const double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2},
                 holes[] = {NAN, 7, INFINITY, 9, -INFINITY};
    assert_true(isnan(dlb_median(NULL, 0)));
    assert_near(dlb_median(odd, 1), 9, 0);
    assert_near(dlb_median(odd, 3), 5, 0);
    assert_near(dlb_median(even, 4), 2.5, 0);
    assert_near(dlb_median(holes, 5), 8, 0);
    assert_true(isnan(dlb_median(holes, 1)));
}

/* R: quantile(c(15, 20, 35, 40, 50), c(0, .05, .3, .4, .5, 1), type = 7), worked by hand from (n -
 * 1) q. */
static void quantiles_are_type_7(void **state)
{
    (void)state;
    const double values[] = {40, 15, 50, 35, 20};
    const double q[] = {0, 0.05, 0.3, 0.4, 0.5, 1}, want[] = {15, 16, 23, 29, 35, 50};
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        assert_near(dlb_quantile(values, 5, q[i]), want[i], 1e-12);
    assert_near(dlb_quantile(values, 5, -3), 15, 0);
    assert_near(dlb_quantile(values, 5, 3), 50, 0);
    assert_true(isnan(dlb_quantile(values, 5, NAN)));
}

static void more_values_than_fit_inline(void **state)
{
    (void)state;
    double values[1001];
    for (int i = 0; i < 1001; i++)
        values[i] =
            (double)((i * 367) % 1001); /* 0..1000, shuffled: 367 and 1001 have no common factor */
    assert_near(dlb_median(values, 1001), 500, 0);
    struct dlb_estimate e = dlb_estimate_median(values, 1001);
    assert_int_equal(e.n, 1001);
    /* 31 = 1.96 sqrt(1001) / 2: with so many the binomial is normal. */
    assert_near(e.low, 500 - 31, 0.1);
    assert_near(e.high, 500 + 31, 0.1);
}

static void inputs_are_not_changed(void **state)
{
    (void)state;
    const double values[] = {3, 1, 2, 9, 8, 7, 5};
    double copy[7];
    memcpy(copy, values, sizeof copy);
    (void)dlb_median(copy, 7);
    (void)dlb_estimate_median(copy, 7);
    (void)dlb_estimate_paired_loss(copy, copy, 7);
    assert_memory_equal(copy, values, sizeof copy);
}

static void interval_kinds(void **state)
{
    (void)state;
    const double values[] = {10, 12, 11, 13, 9, 14};
    struct dlb_estimate e = dlb_estimate_median(values, 0);
    assert_int_equal(e.interval, DLB_INTERVAL_NONE);
    assert_int_equal(e.n, 0);
    assert_true(isnan(e.median) && isnan(e.low) && isnan(e.high));

    e = dlb_estimate_median(values, 1);
    assert_int_equal(e.interval, DLB_INTERVAL_NONE);
    assert_near(e.low, 10, 0);
    assert_near(e.high, 10, 0);

    e = dlb_estimate_median(values, DLB_SIGN_MIN_N - 1);
    assert_int_equal(e.interval, DLB_INTERVAL_MIN_MAX);
    assert_near(e.median, 11, 0);
    assert_near(e.low, 9, 0);
    assert_near(e.high, 13, 0);

    e = dlb_estimate_median(values, DLB_SIGN_MIN_N);
    assert_int_equal(e.interval, DLB_INTERVAL_SIGN_95);
    assert_near(e.median, 11.5, 0);
    assert_true(e.low >= 9 && e.low < 11.5 && e.high > 11.5 && e.high <= 14);

    assert_string_equal(dlb_interval_name(DLB_INTERVAL_NONE), "none");
    assert_string_equal(dlb_interval_name(DLB_INTERVAL_MIN_MAX), "min-max");
    assert_string_equal(dlb_interval_name(DLB_INTERVAL_SIGN_95), "sign-95");
}

/* The order in which repetitions ran says nothing. */
static void interval_does_not_depend_on_the_order(void **state)
{
    (void)state;
    double values[9], reversed[9];
    struct dlb_rng rng = dlb_rng_seed(5, 0, 0);
    for (int i = 0; i < 9; i++)
        reversed[8 - i] = values[i] = dlb_rng_normal(&rng);
    struct dlb_estimate one = dlb_estimate_median(values, 9),
                        other = dlb_estimate_median(reversed, 9);
    assert_true(one.low == other.low && one.high == other.high && one.median == other.median);
}

static void constant_values_have_no_width(void **state)
{
    (void)state;
    const double values[] = {5, 5, 5, 5, 5, 5, 5, 5};
    struct dlb_estimate e = dlb_estimate_median(values, 8);
    assert_near(e.low, 5, 0);
    assert_near(e.high, 5, 0);
}

/* By hand. n = 6: k = 1, g = 62/64 and 50/64, I = 0.1, lambda = 0.5 / 1.4. n = 9: k = 2, g =
 * 492/512 and 420/512, I = 7/90, lambda = 49/215. n = 17: k = 5, g = 124644/131072 and
 * 112268/131072, I = 125.6/12376, lambda = 1507.2/62759.2. */
static void interval_ends_between_two_values(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double low;
    } rows[] = {{6, 1 + 0.5 / 1.4}, {9, 2 + 49.0 / 215}, {17, 5 + 1507.2 / 62759.2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double values[17];
        for (uint32_t k = 0; k < rows[i].n; k++)
            values[k] = k + 1;
        struct dlb_estimate e = dlb_estimate_median(values, rows[i].n);
        assert_near(e.low, rows[i].low, 1e-6);
        assert_near(e.high, rows[i].n + 1 - rows[i].low, 1e-6);
    }
}

enum shape { NORMAL, EXPONENTIAL, STUDENT_3, UNIFORM, N_SHAPES };

/* Of a distribution whose median is 0. */
static double drawn(enum shape shape, struct dlb_rng *rng)
{
    double squares = 0;
    switch (shape) {
    case NORMAL:
        return dlb_rng_normal(rng);
    case EXPONENTIAL:
        return -log1p(-dlb_rng_unit(rng)) - log(2);
    case STUDENT_3:
        for (int i = 0; i < 3; i++)
            squares += pow(dlb_rng_normal(rng), 2);
        return dlb_rng_normal(rng) / sqrt(squares / 3);
    default:
        return dlb_rng_unit(rng) - 0.5;
    }
}

#define MAX_N 32
#define N_TRIALS 3000

/* Shares of intervals that hold the truth, and their mean width beside that of the middle 95% of
 * the medians themselves, which is what one who knows the distribution would name. */
static void interval_covers_the_truth(void **state)
{
    (void)state;
    static double medians[N_TRIALS];
    printf("  n      normal       exponential   Student, 3    uniform\n");
    for (uint32_t n = DLB_SIGN_MIN_N; n <= MAX_N; n++) {
        double share[N_SHAPES], wider[N_SHAPES];
        for (int shape = 0; shape < N_SHAPES; shape++) {
            struct dlb_rng rng = dlb_rng_seed(99, n, (uint64_t)shape);
            double covered = 0, width = 0, values[MAX_N];
            for (uint32_t trial = 0; trial < N_TRIALS; trial++) {
                for (uint32_t i = 0; i < n; i++)
                    values[i] = drawn((enum shape)shape, &rng);
                struct dlb_estimate e = dlb_estimate_median(values, n);
                covered += e.low <= 0 && 0 <= e.high;
                width += e.high - e.low;
                medians[trial] = e.median;
            }
            share[shape] = covered / N_TRIALS;
            wider[shape] =
                width / N_TRIALS /
                (dlb_quantile(medians, N_TRIALS, 0.975) - dlb_quantile(medians, N_TRIALS, 0.025));
        }
        printf(" %2u", n);
        for (int shape = 0; shape < N_SHAPES; shape++)
            printf("  %5.1f%% %5.2f", share[shape] * 100, wider[shape]);
        printf("\n");
        for (int shape = 0; shape < N_SHAPES; shape++)
            assert_true(share[shape] >= 0.92 && wider[shape] <= 1.6);
    }
}

/* A drift that both share disappears in pairs, and would not without them. */
static void pairing_takes_drift_out(void **state)
{
    (void)state;
    double slow[12], fast[12];
    for (int i = 0; i < 12; i++) {
        fast[i] = 1000.0 * (1.0 + 0.1 * i);
        slow[i] = fast[i] * (0.95 + 0.001 * (i % 3 - 1));
    }
    struct dlb_estimate loss = dlb_estimate_paired_loss(slow, fast, 12);
    assert_near(loss.median, 0.05, 1e-9);
    assert_true(loss.low >= 0.049 - 1e-9 && loss.high <= 0.051 + 1e-9);
    assert_int_equal(loss.interval, DLB_INTERVAL_SIGN_95);

    struct dlb_estimate ratio = dlb_estimate_paired_ratio(fast, slow, 12);
    assert_near(ratio.median, 1.0 / 0.95, 1e-3);
    assert_true(ratio.low > 1.05 && ratio.high < 1.06);

    struct dlb_estimate self = dlb_estimate_paired_loss(fast, fast, 12);
    assert_true(self.median == 0 && self.low == 0 && self.high == 0);
}

static void pairs_with_holes_are_left_out(void **state)
{
    (void)state;
    const double a[] = {9, NAN, 8, 5, 0}, b[] = {10, 10, NAN, 0, 0};
    struct dlb_estimate loss = dlb_estimate_paired_loss(a, b, 5);
    assert_int_equal(loss.n, 1);
    assert_near(loss.median, 0.1, 1e-12);
    assert_int_equal(loss.interval, DLB_INTERVAL_NONE);
    assert_int_equal(dlb_estimate_paired_ratio(a + 1, b + 1, 4).n, 0);
}

/* By hand: 1, 2, 3 have mean 2 and standard error 1 / sqrt(3); t of 2 degrees is 4.3027. */
static void test_mean_interval(void **state)
{
    (void)state;
    const double values[] = {1, (double)NAN, 3, 2};
    double low, high;
    assert_true(dlb_mean_interval(values, 4, &low, &high));
    assert_true(fabs(low - (2 - 4.30265 / sqrt(3))) < 1e-4);
    assert_true(fabs(high - (2 + 4.30265 / sqrt(3))) < 1e-4);
    assert_false(dlb_mean_interval(values, 3, &low, &high));
    assert_true(isnan(low) && isnan(high));
    assert_false(dlb_mean_interval(values, 0, &low, &high));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(quantiles_are_type_7),
        cmocka_unit_test(more_values_than_fit_inline),
        cmocka_unit_test(inputs_are_not_changed),
        cmocka_unit_test(interval_kinds),
        cmocka_unit_test(interval_does_not_depend_on_the_order),
        cmocka_unit_test(constant_values_have_no_width),
        cmocka_unit_test(interval_ends_between_two_values),
        cmocka_unit_test(interval_covers_the_truth),
        cmocka_unit_test(pairing_takes_drift_out),
        cmocka_unit_test(pairs_with_holes_are_left_out),
        cmocka_unit_test(test_mean_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
