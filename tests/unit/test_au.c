/* Each definition of accelerator utilisation, by numbers worked out by hand. */
#include "core/measure/au.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static void near(double got, double want)
{
    if (!(fabs(got - want) < 1e-12))
        fail_msg("%.15g instead of %.15g", got, want);
}

/* Four steps of 10, 11, 12, 9 ns, asked for at 100: [120, 130] [135, 146] [146, 158] [170, 179].
 * T = 179 - 130 = 49. */
static struct dlb_au_epoch four_steps(void)
{
    struct dlb_au_epoch epoch = {0};
    dlb_au_step(&epoch, 100, 120, 130, 4);
    dlb_au_step(&epoch, 121, 135, 146, 4);
    dlb_au_step(&epoch, 136, 146, 158, 4);
    dlb_au_step(&epoch, 147, 170, 179, 2);
    return epoch;
}

static void formulas_are_those_of_mlperf(void **state)
{
    (void)state;
    struct dlb_au_epoch epoch = four_steps();
    assert_int_equal(epoch.n_steps, 4);
    near(dlb_au_mlperf_v1(&epoch, 10), 3 * 10 / 49.0);      /* steps 2 to 4, as asked for */
    near(dlb_au_mlperf_v2(&epoch), (11 + 12 + 9) / 49.0);   /* as they were */
    near(dlb_rate_mlperf_v1(&epoch) / 1e9, 14 / 79.0);      /* all, from 100 to 179 */
    near(dlb_rate_mlperf_v2(&epoch) / 1e9, 2 * 3.5 / 49.0); /* two of three steps' window */
}

static void one_step_tells_nothing(void **state)
{
    (void)state;
    struct dlb_au_epoch epoch = {0};
    assert_true(isnan(dlb_au_mlperf_v1(&epoch, 10)));
    dlb_au_step(&epoch, 0, 5, 15, 1);
    assert_true(isnan(dlb_au_mlperf_v1(&epoch, 10)));
    assert_true(isnan(dlb_au_mlperf_v2(&epoch)));
    assert_true(isnan(dlb_rate_mlperf_v1(&epoch)));
    assert_true(isnan(dlb_rate_mlperf_v2(&epoch)));
}

/* Utilisations have a mean, rates a sum; a mean hides who starves, the smallest does not. */
static void many_have_a_mean_and_a_lowest(void **state)
{
    (void)state;
    struct dlb_au mean, lowest,
        each[3] = {
            {1.0, 0.9, 0.8, 0.7, 100, 90}, {0.5, 0.6, 0.2, 0.1, 50, 40}, {0.9, 0, 0.5, 1, 30, 20}};
    dlb_au_mean(each, 3, &mean, &lowest);
    near(mean.nominal, 0.8);
    near(mean.measured, 0.5);
    near(mean.mlperf_v1, 0.5);
    near(mean.mlperf_v2, 0.6);
    near(mean.mlperf_v1_samples_per_s, 180);
    near(mean.mlperf_v2_samples_per_s, 150);
    near(lowest.nominal, 0.5);
    near(lowest.measured, 0);
    near(lowest.mlperf_v1, 0.2);
    near(lowest.mlperf_v2, 0.1);
    dlb_au_mean(each, 1, &mean, &lowest);
    near(mean.mlperf_v1, 0.8);
    near(lowest.mlperf_v1_samples_per_s, 100);
    each[1].measured = (double)NAN;
    dlb_au_mean(each, 3, &mean, &lowest);
    assert_true(isnan(mean.measured) && isnan(lowest.measured));
    near(mean.nominal, 0.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_are_those_of_mlperf),
        cmocka_unit_test(one_step_tells_nothing),
        cmocka_unit_test(many_have_a_mean_and_a_lowest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
