#include "core/base/rng.h"
#include "core/measure/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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
    struct dlb_estimate e = dlb_estimate_median(values, 1001, 1);
    assert_int_equal(e.n, 1001);
    assert_true(e.low > 400 && e.low < 500 && e.high > 500 && e.high < 600);
}

static void inputs_are_not_changed(void **state)
{
    (void)state;
    const double values[] = {3, 1, 2, 9, 8, 7, 5};
    double copy[7];
    memcpy(copy, values, sizeof copy);
    (void)dlb_median(copy, 7);
    (void)dlb_estimate_median(copy, 7, 1);
    (void)dlb_estimate_paired_loss(copy, copy, 7, 1);
    assert_memory_equal(copy, values, sizeof copy);
}

static void interval_kinds(void **state)
{
    (void)state;
    const double values[] = {10, 12, 11, 13, 9, 14};
    struct dlb_estimate e = dlb_estimate_median(values, 0, 1);
    assert_int_equal(e.interval, DLB_INTERVAL_NONE);
    assert_int_equal(e.n, 0);
    assert_true(isnan(e.median) && isnan(e.low) && isnan(e.high));

    e = dlb_estimate_median(values, 1, 1);
    assert_int_equal(e.interval, DLB_INTERVAL_NONE);
    assert_near(e.low, 10, 0);
    assert_near(e.high, 10, 0);

    e = dlb_estimate_median(values, DLB_BOOTSTRAP_MIN_N - 1, 1);
    assert_int_equal(e.interval, DLB_INTERVAL_MIN_MAX);
    assert_near(e.median, 11, 0);
    assert_near(e.low, 9, 0);
    assert_near(e.high, 13, 0);

    e = dlb_estimate_median(values, DLB_BOOTSTRAP_MIN_N, 1);
    assert_int_equal(e.interval, DLB_INTERVAL_BOOTSTRAP_95);
    assert_near(e.median, 11.5, 0);
    assert_true(e.low >= 9 && e.low < 11.5 && e.high > 11.5 && e.high <= 14);

    assert_string_equal(dlb_interval_name(DLB_INTERVAL_NONE), "none");
    assert_string_equal(dlb_interval_name(DLB_INTERVAL_MIN_MAX), "min-max");
    assert_string_equal(dlb_interval_name(DLB_INTERVAL_BOOTSTRAP_95), "bootstrap-95");
}

static void bootstrap_is_deterministic(void **state)
{
    (void)state;
    double values[9];
    struct dlb_rng rng = dlb_rng_seed(5, 0, 0);
    for (int i = 0; i < 9; i++)
        values[i] = dlb_rng_normal(&rng);
    struct dlb_estimate first = dlb_estimate_median(values, 9, 42),
                        again = dlb_estimate_median(values, 9, 42);
    assert_true(first.low == again.low && first.high == again.high && first.median == again.median);

    /* The order in which repetitions ran says nothing. */
    double reversed[9];
    for (int i = 0; i < 9; i++)
        reversed[i] = values[8 - i];
    again = dlb_estimate_median(reversed, 9, 42);
    assert_true(first.low == again.low && first.high == again.high);
}

static void constant_values_have_no_width(void **state)
{
    (void)state;
    const double values[] = {5, 5, 5, 5, 5, 5, 5, 5};
    struct dlb_estimate e = dlb_estimate_median(values, 8, 3);
    assert_near(e.low, 5, 0);
    assert_near(e.high, 5, 0);
}

/* The exact distribution of a resample's median, for an odd n, is binomial: P(median <= x_(k)) =
 * P(Bin(n, k/n) > n/2). The interval must be that distribution's. */
static double binomial_above_half(int n, double p)
{
    double sum = 0;
    for (int k = n / 2 + 1; k <= n; k++)
        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
                   (n - k) * log1p(-p));
    return sum;
}

static void bootstrap_matches_the_exact_distribution(void **state)
{
    (void)state;
    for (int n = 7; n <= 31; n += 2) {
        double values[31];
        for (int i = 0; i < n; i++)
            values[i] = i + 1;
        struct dlb_estimate e = dlb_estimate_median(values, (uint32_t)n, 11);
        /* The 2.5% point lies at the first k whose P(median <= x_k) reaches it; a draw near the
         * edge may move it by one. */
        int low = 1, high = 1;
        while (binomial_above_half(n, (double)low / n) < 0.025)
            low++;
        while (high < n && binomial_above_half(n, (double)high / n) < 0.975)
            high++;
        assert_near(e.low, low, 1.0);
        assert_near(e.high, high, 1.0);
    }
}

static void interval_covers_the_truth(void **state)
{
    (void)state;
    const uint32_t sizes[] = {6, 10, 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        enum { N_TRIALS = 300 };
        uint32_t covered = 0;
        for (uint32_t trial = 0; trial < N_TRIALS; trial++) {
            struct dlb_rng rng = dlb_rng_seed(99, trial, sizes[s]);
            double values[20];
            for (uint32_t i = 0; i < sizes[s]; i++)
                values[i] = exp(0.2 * dlb_rng_normal(&rng)); /* skewed, its median is 1 */
            struct dlb_estimate e = dlb_estimate_median(values, sizes[s], trial);
            covered += e.low <= 1.0 && 1.0 <= e.high;
        }
        /* 95% asked for; a percentile bootstrap of so few values comes near it, not to it. */
        double share = (double)covered / N_TRIALS;
        if (share < 0.90 || share > 0.995)
            fail_msg("n = %u: %.3f of the intervals cover the median", sizes[s], share);
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
    struct dlb_estimate loss = dlb_estimate_paired_loss(slow, fast, 12, 1);
    assert_near(loss.median, 0.05, 1e-9);
    assert_true(loss.low >= 0.049 - 1e-9 && loss.high <= 0.051 + 1e-9);
    assert_int_equal(loss.interval, DLB_INTERVAL_BOOTSTRAP_95);

    struct dlb_estimate ratio = dlb_estimate_paired_ratio(fast, slow, 12, 1);
    assert_near(ratio.median, 1.0 / 0.95, 1e-3);
    assert_true(ratio.low > 1.05 && ratio.high < 1.06);

    struct dlb_estimate self = dlb_estimate_paired_loss(fast, fast, 12, 1);
    assert_true(self.median == 0 && self.low == 0 && self.high == 0);
}

static void pairs_with_holes_are_left_out(void **state)
{
    (void)state;
    const double a[] = {9, NAN, 8, 5, 0}, b[] = {10, 10, NAN, 0, 0};
    struct dlb_estimate loss = dlb_estimate_paired_loss(a, b, 5, 1);
    assert_int_equal(loss.n, 1);
    assert_near(loss.median, 0.1, 1e-12);
    assert_int_equal(loss.interval, DLB_INTERVAL_NONE);
    assert_int_equal(dlb_estimate_paired_ratio(a + 1, b + 1, 4, 1).n, 0);
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
        cmocka_unit_test(bootstrap_is_deterministic),
        cmocka_unit_test(constant_values_have_no_width),
        cmocka_unit_test(bootstrap_matches_the_exact_distribution),
        cmocka_unit_test(interval_covers_the_truth),
        cmocka_unit_test(pairing_takes_drift_out),
        cmocka_unit_test(pairs_with_holes_are_left_out),
        cmocka_unit_test(test_mean_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
