/* Times of a GPU's events on the host's clock, and how far off they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/rng.h"
#include "loaders/device/cuda/gpu_clock.h"

#include <math.h>

static void events_come_to_the_hosts_clock(void **state)
{
    (void)state;
    struct dlb_gpu_clock clock;
    dlb_gpu_clock_anchor(&clock, 1000000, 1010000);
    assert_int_equal(clock.anchor_ns, 1005000);
    assert_int_equal(clock.error_ns, 5000);
    assert_int_equal(dlb_gpu_clock_at(&clock, 1.5f), 2505000);
    assert_int_equal(dlb_gpu_clock_at(&clock, -0.5f), 505000);

    dlb_gpu_clock_bound(&clock, 1.0f, 0, UINT64_MAX); /* within: nothing moves */
    assert_int_equal(clock.anchor_ns, 1005000);
    dlb_gpu_clock_bound(&clock, 1.0f, 2105000, UINT64_MAX); /* 0.1 ms before it was asked for */
    assert_int_equal(dlb_gpu_clock_at(&clock, 1.0f), 2105000);
    dlb_gpu_clock_bound(&clock, 2.0f, 0, 3100000); /* 5 us after it was seen */
    assert_int_equal(dlb_gpu_clock_at(&clock, 2.0f), 3100000);
    assert_int_equal(dlb_gpu_clock_shift_ns(&clock), 95000);
    dlb_gpu_clock_bound(&clock, 2.0f, 3200000, 3000000); /* contradictory: what was asked wins */
    assert_int_equal(dlb_gpu_clock_at(&clock, 2.0f), 3200000);

    uint64_t before_ns = dlb_gpu_clock_at(&clock, 2500.0f);
    dlb_gpu_clock_move(&clock, 2400.0f);
    assert_int_equal(dlb_gpu_clock_at(&clock, 100.0f), before_ns);
}

static void brackets_set_clock_and_rate(void **state)
{
    (void)state;
    struct dlb_gpu_clock clock;
    dlb_gpu_clock_anchor(&clock, 0, 10000);
    assert_true(dlb_gpu_clock_is_narrow(&clock, 0, 20000));
    assert_false(dlb_gpu_clock_is_narrow(&clock, 0, 20001));
    dlb_gpu_clock_bracket(&clock, 1.0f, 1000000, 1020000); /* too soon to tell a rate */
    assert_int_equal(dlb_gpu_clock_at(&clock, 1.0f), 1010000);
    assert_true(fabs(clock.rate - 1) < 1e-12);
    dlb_gpu_clock_bracket(&clock, 1000.0f, 1000100000, 1000110000);
    assert_true(fabs(clock.rate - 1.0001) < 1e-9);
    assert_int_equal(dlb_gpu_clock_at(&clock, 1000.0f), 1000105000);
    assert_true(llabs((int64_t)dlb_gpu_clock_at(&clock, 2000.0f) - 2000205000) <= 1);
    double rate = clock.rate;
    dlb_gpu_clock_bracket(&clock, 2000.0f, 2000000000, 2001000000); /* wide, and it fits */
    assert_true(llabs((int64_t)dlb_gpu_clock_at(&clock, 2000.0f) - 2000205000) <= 1);
    dlb_gpu_clock_bracket(&clock, 2000.0f, 2000300000, 2001000000); /* wide, and it does not */
    assert_int_equal(dlb_gpu_clock_at(&clock, 2000.0f), 2000300000);
    assert_true(fabs(clock.rate - rate) < 1e-15);
    dlb_gpu_clock_move(&clock, 2000.0f);
    assert_int_equal(dlb_gpu_clock_shift_ns(&clock), 2000300000 - 5000 - 2000000000);
}

/* An hour of anchors at odd distances: a float's steps do not add up. */
static void anchors_carry_an_hour(void **state)
{
    (void)state;
    struct dlb_gpu_clock clock;
    dlb_gpu_clock_anchor(&clock, 0, 0);
    double true_ns = 0;
    for (int i = 0; i < 1700; i++) {
        double ms = 2100.0 + i % 97 * 0.37;
        true_ns += ms * 1e6;
        dlb_gpu_clock_move(&clock, (float)ms);
    }
    assert_true(fabs((double)clock.anchor_ns - true_ns) < 100e3); /* 0.03 ppm */
}

/* A GPU whose clock gains `ppm` on the host's, and `ppm_more` in the end. */
struct crystal {
    double ppm, ppm_more;
};

static double gpu_ms_at(const struct crystal *c, double host_s, double all_s)
{
    return 1e3 * (host_s + 1e-6 * (c->ppm * host_s + c->ppm_more * host_s * host_s / 2 / all_s));
}

/* As the driver tells it: in steps of half a microsecond, as a float. */
static float told_ms(double ms)
{
    return (float)(round(ms * 2e3) / 2e3);
}

/* The largest error of an event's time, seconds apart, after the first `settle_s`. An event answers
 * within 4 to 12 us, anywhere in its bracket; one in ten brackets is spoiled, by up to 2 ms. */
static double worst_ns(const struct crystal *c, double all_s, double settle_s, uint64_t seed)
{
    struct dlb_rng rng = dlb_rng_seed(seed, 1, 0);
    struct dlb_gpu_clock clock;
    double anchor_ms = gpu_ms_at(c, 0, all_s), worst = 0, at_s = 0;

    dlb_gpu_clock_anchor(&clock, 10000000 - 2000, 10000000 + 2000); /* the host's 0 is 10 ms */
    while (at_s < all_s) {
        double next_s = at_s + 1 + 0.2 * dlb_rng_unit(&rng);
        for (int i = 1; i <= 8; i++) { /* events between the brackets */
            double event_s = at_s + (next_s - at_s) * i / 8;
            float ms = told_ms(gpu_ms_at(c, event_s, all_s) - anchor_ms);
            double error_ns = (double)dlb_gpu_clock_at(&clock, ms) - (event_s * 1e9 + 1e7);
            if (event_s > settle_s)
                worst = fmax(worst, fabs(error_ns));
        }
        at_s = next_s;
        double width_ns = 4e3 + 8e3 * dlb_rng_unit(&rng), share = dlb_rng_unit(&rng);
        if (dlb_rng_unit(&rng) < 0.1)
            width_ns += 2e6 * dlb_rng_unit(&rng);
        double before_ns = at_s * 1e9 + 1e7 - share * width_ns, now_ms = gpu_ms_at(c, at_s, all_s);
        float ms = told_ms(now_ms - anchor_ms);
        dlb_gpu_clock_bracket(&clock, ms, (uint64_t)before_ns, (uint64_t)(before_ns + width_ns));
        dlb_gpu_clock_move(&clock, ms);
        anchor_ms = now_ms;
    }
    return worst;
}

/* Ten minutes. Half of a narrow bracket is 4 us; the rate is known to 1e-5 after a second and to
 * 1e-6 after ten, and where brackets are spoiled, a second counts several times. */
static void stamps_stay_where_they_belong(void **state)
{
    static const struct {
        struct crystal crystal;
        double limit_ns;
    } cases[] = {
        {{0, 0}, 20e3},   {{5, 0}, 20e3},    {{-5, 0}, 20e3}, {{50, 0}, 20e3},  {{-50, 0}, 20e3},
        {{200, 0}, 20e3}, {{-200, 0}, 20e3}, {{20, 5}, 30e3}, {{20, -5}, 30e3}, {{-20, 5}, 30e3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            double worst = worst_ns(&cases[i].crystal, 600, 10, seed);
            if (worst > cases[i].limit_ns)
                fail_msg("%.0f ppm and %.0f more: %.1f us", cases[i].crystal.ppm,
                         cases[i].crystal.ppm_more, worst / 1e3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_to_the_hosts_clock),
        cmocka_unit_test(brackets_set_clock_and_rate),
        cmocka_unit_test(anchors_carry_an_hour),
        cmocka_unit_test(stamps_stay_where_they_belong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
