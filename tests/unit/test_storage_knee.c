/* The curve of utilisation: what is put in is found, and what is no such curve is told. */
#include "scenarios/storage/knee.h"

#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N_NUMBERS = 8, N_VALUES = 3 };
static const uint32_t numbers[N_NUMBERS] = {16, 20, 24, 26, 28, 30, 36, 48};

struct measured {
    struct dlb_knee_point points[N_NUMBERS];
    double au[N_NUMBERS][N_VALUES];
};

static double utilisation(double n, double knee, double p)
{
    return isinf(p) ? fmin(1, knee / n) : pow(1 + pow(n / knee, p), -1 / p);
}

static void measure(struct measured *m, double knee, double p, double noise, uint64_t seed)
{
    struct dlb_rng rng = dlb_rng_seed(seed, 1, 2);
    for (int i = 0; i < N_NUMBERS; i++) {
        m->points[i] = (struct dlb_knee_point){numbers[i], N_VALUES, m->au[i]};
        for (int k = 0; k < N_VALUES; k++)
            m->au[i][k] = utilisation(numbers[i], knee, p) * exp(noise * dlb_rng_normal(&rng));
    }
}

static void test_finds_crossing_and_sharpness(void **state)
{
    (void)state;
    static struct measured m;
    const double sharpnesses[] = {2, 4, 9, INFINITY};
    for (size_t i = 0; i < sizeof(sharpnesses) / sizeof(sharpnesses[0]); i++) {
        struct dlb_knee knee;
        double p = sharpnesses[i], at = isinf(p) ? 24 / 0.9 : 24 * pow(pow(0.9, -p) - 1, 1 / p);
        measure(&m, 24, p, 0, 1);
        dlb_knee_fit(m.points, N_NUMBERS, 0.9, &knee);
        assert_true(knee.fitted);
        assert_true(fabs(knee.at / at - 1) < 1e-3);
        assert_true(isinf(p) ? isinf(knee.sharpness) : knee.sharpness == p);
        assert_true(knee.low <= knee.at && knee.at <= knee.high);
        assert_true(knee.high / knee.low < 1.02);
        assert_true(knee.lack_of_fit_p > 0.5);
        assert_int_equal(knee.n_values, N_NUMBERS * N_VALUES);
        assert_int_equal(knee.n_left_out, 0);
    }
}

/* The test of fit rejects a curve that holds in about 1 of 100, and one that does not always. */
static void test_lack_of_fit(void **state)
{
    (void)state;
    static struct measured m;
    uint32_t n_rejected = 0, n_dips = 0;
    for (uint32_t run = 0; run < 400; run++) {
        struct dlb_knee knee;
        measure(&m, 24, INFINITY, 0.02, run);
        dlb_knee_fit(m.points, N_NUMBERS, 0.9, &knee);
        n_rejected += knee.lack_of_fit_p < DLB_KNEE_LACK_P;
        for (int k = 0; k < N_VALUES; k++) /* one number in the middle is bad, time and again */
            m.au[2][k] *= 0.8;
        dlb_knee_fit(m.points, N_NUMBERS, 0.9, &knee);
        n_dips += knee.lack_of_fit_p < DLB_KNEE_LACK_P;
    }
    assert_in_range(n_rejected, 0, 12);
    assert_in_range(n_dips, 396, 400);
}

/* A slow moment is left out; a number that differs always is not. */
static void test_a_slow_moment_is_left_out(void **state)
{
    (void)state;
    static struct measured m;
    struct dlb_knee clean, knee;
    measure(&m, 24, INFINITY, 0.01, 5);
    dlb_knee_fit(m.points, N_NUMBERS, 0.9, &clean);
    m.au[3][1] *= 0.6;
    dlb_knee_fit(m.points, N_NUMBERS, 0.9, &knee);
    assert_int_equal(knee.n_left_out, 1);
    assert_int_equal(knee.n_values, N_NUMBERS * N_VALUES - 1);
    assert_true(fabs(knee.at / clean.at - 1) < 0.01);
}

/* Too little, or no gate to cross: no curve, and no figures. */
/* A storage of 5% less, seen from the curve: where it limits, and not below the knee. */
static void test_off(void **state)
{
    (void)state;
    static struct measured m;
    const double sharpnesses[] = {4, INFINITY};
    for (int k = 0; k < 2; k++) {
        struct dlb_knee knee;
        double p = sharpnesses[k];
        measure(&m, 24, p, 0, 1);
        dlb_knee_fit(m.points, N_NUMBERS, 0.9, &knee);
        for (int i = 0; i < N_NUMBERS; i++) {
            double au = utilisation(numbers[i], 24 * 0.95, p);
            double off = dlb_knee_off(&knee, 0.9, numbers[i], au);
            if (numbers[i] >= 26)
                assert_true(fabs(off - log(0.95)) < (isinf(p) ? 1e-3 : 0.01));
            else if (numbers[i] == 16)
                assert_true(isnan(off));
        }
    }
}

static void test_nothing_to_fit(void **state)
{
    (void)state;
    static struct measured m;
    struct dlb_knee knee;
    const struct {
        uint32_t n;
        double gate;
    } cases[] = {{0, 0.9}, {2, 0.9}, {N_NUMBERS, 1}, {N_NUMBERS, 0}};
    measure(&m, 24, INFINITY, 0.01, 5);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dlb_knee_fit(m.points, cases[i].n, cases[i].gate, &knee);
        assert_false(knee.fitted);
        assert_true(isnan(knee.at) && isnan(knee.low) && isnan(knee.high));
        assert_true(isnan(knee.lack_of_fit_p));
    }
    m.au[0][0] = 0; /* an accelerator that was never fed has a logarithm, too */
    dlb_knee_fit(m.points, N_NUMBERS, 0.9, &knee);
    assert_true(isfinite(knee.at));
}

/* Half of the repetitions of one number were slow: none is near their median. */
static void test_two_clusters(void **state)
{
    (void)state;
    static const double at_4[] = {.995, .995, .995, .995}, at_6[] = {.97, .97, .97, .97},
                        at_7[] = {.95, .95, .83, .83}, at_8[] = {.8, .8, .8, .8};
    const struct dlb_knee_point points[] = {{4, 4, at_4}, {6, 4, at_6}, {7, 4, at_7}, {8, 4, at_8}};
    struct dlb_knee knee;
    dlb_knee_fit(points, 4, 0.9, &knee);
    assert_true(knee.fitted);
    assert_int_equal(knee.n_left_out, 0);
    assert_true(knee.at > 6 && knee.at < 8);
    assert_true(knee.low < knee.at && knee.at < knee.high);
    assert_true(knee.noise_frac > 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_crossing_and_sharpness),
        cmocka_unit_test(test_two_clusters),
        cmocka_unit_test(test_lack_of_fit),
        cmocka_unit_test(test_a_slow_moment_is_left_out),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_nothing_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
