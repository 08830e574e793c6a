/* The rule that calls a repetition disturbed, and what measuring again does to medians and their
 * intervals. docs/measurement.md has the figures that this prints. */
#include "core/measure/disturbed.h"

#include "core/base/rng.h"
#include "core/measure/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { EXPERIMENTS = 500, REPS = 6 };

static struct dlb_strain quiet(double n_ticks)
{
    return (struct dlb_strain){.n_ticks = n_ticks, .idle_frac = 0.5};
}

static void test_each_cause_at_its_threshold(void **state)
{
    (void)state;
    struct dlb_strain s = quiet(1e6);
    assert_int_equal(dlb_disturbed(&s), 0);
    s.stolen_frac = 0.0199;
    assert_int_equal(dlb_disturbed(&s), 0);
    s.stolen_frac = 0.02;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_STEAL);
    s = quiet(60);
    s.stolen_frac = 1.0 / 60; /* one tick, which may have been rounded up */
    assert_int_equal(dlb_disturbed(&s), 0);
    s.stolen_frac = 2.0 / 60;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_STEAL);

    s = quiet(1e6);
    s.others_frac = 0.3; /* on CPUs that were free */
    assert_int_equal(dlb_disturbed(&s), 0);
    s.idle_frac = 0.24;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_OTHERS);
    s.others_frac = 0.05;
    assert_int_equal(dlb_disturbed(&s), 0);
    s.others_frac = 0.052;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_OTHERS);
    s.n_ticks = 100; /* too short to be sure */
    assert_int_equal(dlb_disturbed(&s), 0);
    s.others_frac = 0.21;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_OTHERS);

    s = quiet(1e6);
    s.pressure_frac = 0.9; /* by our own workers */
    assert_int_equal(dlb_disturbed(&s), 0);
    s.others_frac = 0.03;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_PRESSURE);
    s.pressure_frac = 0.09;
    assert_int_equal(dlb_disturbed(&s), 0);

    s = quiet(1e6);
    s.throttled_frac = 0.02;
    s.n_hot = 1;
    assert_int_equal(dlb_disturbed(&s), DLB_BY_QUOTA | DLB_BY_HEAT);
}

static void test_unknown_is_no_cause(void **state)
{
    (void)state;
    struct dlb_strain s;
    dlb_strain_unknown(&s);
    assert_int_equal(dlb_disturbed(&s), 0);
    s.stolen_frac = 0.5; /* without the number of ticks it cannot be told from one tick */
    assert_int_equal(dlb_disturbed(&s), 0);
}

static void test_pointless_after_nine(void **state)
{
    (void)state;
    assert_false(dlb_again_is_pointless(8, 0));
    assert_true(dlb_again_is_pointless(9, 0));
    assert_true(dlb_again_is_pointless(9, 1));
    assert_true(dlb_again_is_pointless(9, 2));
    assert_false(dlb_again_is_pointless(9, 3));
    assert_true(dlb_again_is_pointless(30, 9));
}

/* A machine whose steal comes in bursts: for so long, so often, and so strong. */
struct machine {
    double noise;   /* sd of ln rate by itself */
    double p_begin; /* of a burst, per repetition */
    double p_end;
    double steal; /* mean share that is stolen in a burst; 0: none ever is */
    double cost;  /* what the rate loses for each share stolen */
    double n_ticks;
    double others; /* background of other programs */
};

struct burst {
    const struct machine *m;
    struct dlb_rng rng;
    bool on;
};

/* One run: its rate in truths, and whether the rule calls it disturbed. */
static double run(struct burst *b, bool *disturbed, bool *hit)
{
    struct dlb_strain s = quiet(b->m->n_ticks);
    double stolen = 0, others = b->m->others;
    b->on = dlb_rng_unit(&b->rng) < (b->on ? 1 - b->m->p_end : b->m->p_begin);
    if (b->on && b->m->steal > 0)
        stolen = b->m->steal * (0.5 + dlb_rng_unit(&b->rng));
    /* As ticks are sampled. */
    double se = sqrt(others * (1 - others) / b->m->n_ticks);
    s.others_frac = fmax(others + se * dlb_rng_normal(&b->rng), 0);
    s.idle_frac = 0.1; /* and busy workers */
    s.pressure_frac = 0.5;
    s.stolen_frac = round(stolen * s.n_ticks) / s.n_ticks;
    *disturbed = dlb_disturbed(&s) != 0;
    *hit = b->m->cost * stolen > 0.05;
    return exp(b->m->noise * dlb_rng_normal(&b->rng)) * (1 - fmin(b->m->cost * stolen, 0.9));
}

struct outcome {
    double false_alarm, found;   /* share of quiet and of hit runs that are called disturbed */
    double bias[2], coverage[2]; /* of the median, and of its 95% interval: first runs alone, and
                                    with disturbed ones measured again */
    double runs_each;            /* per repetition */
};

static struct outcome simulate(const struct machine *m)
{
    struct outcome out = {0};
    double n_quiet = 0, n_hit = 0, n_runs = 0, sum[2] = {0, 0}, covered[2] = {0, 0};
    struct burst b = {.m = m, .rng = dlb_rng_seed(7, 0, 0)};
    for (int e = 0; e < EXPERIMENTS; e++) {
        double rates[2][REPS];
        b.on = dlb_rng_unit(&b.rng) < m->p_begin / (m->p_begin + m->p_end);
        for (int r = 0; r < REPS; r++) {
            bool disturbed = true, hit;
            for (int again = 0; again <= DLB_AGAIN_MAX && disturbed; again++) {
                rates[1][r] = run(&b, &disturbed, &hit);
                if (again == 0)
                    rates[0][r] = rates[1][r];
                n_runs++;
                n_hit += hit;
                out.found += hit && disturbed;
                n_quiet += !b.on;
                out.false_alarm += !b.on && disturbed;
            }
        }
        for (int k = 0; k < 2; k++) {
            struct dlb_estimate est = dlb_estimate_median(rates[k], REPS);
            sum[k] += est.median;
            covered[k] += est.low <= 1 && 1 <= est.high;
        }
    }
    out.false_alarm /= fmax(n_quiet, 1);
    out.found = n_hit > 0 ? out.found / n_hit : (double)NAN;
    out.runs_each = n_runs / EXPERIMENTS / REPS;
    for (int k = 0; k < 2; k++) {
        out.bias[k] = sum[k] / EXPERIMENTS - 1;
        out.coverage[k] = covered[k] / EXPERIMENTS;
    }
    return out;
}

static void test_operating_characteristics(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct machine m;
        double max_bias; /* with disturbed runs measured again */
    } rows[] = {
        {"quiet, 1% noise", {0.01, 0.2, 0.5, 0, 1, 2000, 0.01}, 0.004},
        {"quiet, 10% noise", {0.10, 0.2, 0.5, 0, 1, 2000, 0.01}, 0.012},
        {"quiet, short runs", {0.03, 0.2, 0.5, 0, 1, 60, 0.01}, 0.004},
        {"quiet, 4% others", {0.03, 0.2, 0.5, 0, 1, 200, 0.04}, 0.004},
        {"bursts of 5%", {0.03, 0.15, 0.5, 0.05, 2, 2000, 0.01}, 0.006},
        {"bursts of 20%", {0.03, 0.15, 0.5, 0.20, 2, 2000, 0.01}, 0.006},
        {"half the time 10%", {0.03, 0.35, 0.35, 0.10, 2, 2000, 0.01}, 0.03},
    };
    printf("%-20s %8s %8s %8s %17s %17s\n", "machine", "false", "found", "runs",
           "bias before/after", "coverage");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct outcome o = simulate(&rows[i].m);
        printf("%-20s %7.2f%% %7.1f%% %8.2f %+7.2f%% %+7.2f%% %7.1f%% %7.1f%%\n", rows[i].what,
               100 * o.false_alarm, 100 * o.found, o.runs_each, 100 * o.bias[0], 100 * o.bias[1],
               100 * o.coverage[0], 100 * o.coverage[1]);
        assert_true(o.false_alarm < 0.01);
        assert_true(!(o.found < 0.95)); /* NaN: nothing was there to find */
        assert_true(fabs(o.bias[1]) < rows[i].max_bias);
        assert_true(o.coverage[1] >= 0.92);
        assert_true(rows[i].m.steal > 0 ? fabs(o.bias[1]) < fabs(o.bias[0]) : o.runs_each < 1.01);
    }
}

/* The rule does not see the rate, so in a quiet machine it cannot pick the faster runs. */
static void test_blind_to_the_rate(void **state)
{
    (void)state;
    const struct machine m = {0.05, 0.2,  0.5, 0.05,
                              0,    2000, 0.01}; /* what is stolen costs nothing */
    struct outcome o = simulate(&m);
    assert_true(o.runs_each > 1.2);
    assert_true(fabs(o.bias[1]) < 0.003);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cause_at_its_threshold),
        cmocka_unit_test(test_unknown_is_no_cause),
        cmocka_unit_test(test_pointless_after_nine),
        cmocka_unit_test(test_operating_characteristics),
        cmocka_unit_test(test_blind_to_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
