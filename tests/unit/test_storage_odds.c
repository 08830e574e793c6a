/* How often the search for N is right: simulated storages of known N, round and sharp knees, and
 * repetitions that differ. The table that it prints is that of docs/storage.md. */
#include "core/base/rng.h"
#include "scenarios/storage/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GATE 0.9
enum { MAX_POINTS = 400, REPEATS = 3, MOST_RUNS = 300 };

enum shape { SHARP, ROUND, TANH, N_SHAPES };
static const char *const shape_names[N_SHAPES] = {"sharp", "round", "tanh"};

struct storage {
    enum shape shape;
    double crossing, noise;
    struct dlb_rng rng;
};

struct odds {
    double exact, off_by_one, width, held, runs, fitted; /* shares and means */
};

/* Utilisation of n accelerators. `tanh` is of no family that the fit knows. */
static double utilisation(const struct storage *s, double n)
{
    const double tanh_gate = 0.5838105696200091; /* tanh(x) / x = GATE */
    double x = n / s->crossing;
    switch (s->shape) {
    case SHARP:
        return fmin(1, GATE / x);
    case ROUND:
        return pow(1 + pow(x, 4) * (pow(GATE, -4) - 1), -0.25);
    case TANH:
    case N_SHAPES:
        break;
    }
    return tanh(tanh_gate * x) / (tanh_gate * x);
}

/* In each repetition the storage is faster or slower by a factor. */
static double repetition(struct storage *s, uint32_t n)
{
    return utilisation(s, n * exp(s->noise * dlb_rng_normal(&s->rng)));
}

/* Returns how many repetitions it took. */
static uint32_t search(struct storage *s, struct dlb_search_step *step)
{
    static struct dlb_search_point points[MAX_POINTS];
    static double au[MAX_POINTS][REPEATS];
    uint32_t n_points = 0;
    for (uint32_t n_runs = 0;; n_runs++) {
        struct dlb_search how = {.gate = GATE,
                                 .max_n = 4096,
                                 .repeats = REPEATS,
                                 .points = points,
                                 .n_points = n_points};
        uint32_t i = 0;
        dlb_search_next(&how, step);
        if (step->done)
            return n_runs;
        while (i < n_points && points[i].n != step->n)
            i++;
        assert_true(i < MAX_POINTS && n_runs < MOST_RUNS);
        if (i == n_points)
            points[n_points++] = (struct dlb_search_point){.n = step->n, .au = au[i]};
        assert_true(points[i].n_values < REPEATS);
        au[i][points[i].n_values++] = repetition(s, step->n);
    }
}

static struct odds simulate(enum shape shape, double noise, uint32_t n, uint32_t n_searches)
{
    struct odds odds = {0};
    const double each = 1.0 / n_searches;
    for (uint32_t i = 0; i < n_searches; i++) {
        struct storage s = {.shape = shape,
                            .crossing = n + 0.5,
                            .noise = noise,
                            .rng = dlb_rng_seed(i, n, (uint64_t)(noise * 1000) + shape)};
        struct dlb_search_step step;
        odds.runs += search(&s, &step) * each;
        assert_true(step.low <= step.best && step.best <= step.high);
        odds.exact += (step.best == n) * each;
        odds.off_by_one += (step.best + 1 >= n && step.best <= n + 1) * each;
        odds.width += (step.high - step.low) * each;
        odds.held += (step.low <= n && n <= step.high) * each;
        odds.fitted += step.fitted * each;
    }
    printf("%-5s %3.0f%% %4u: exact %5.1f%%  off by one %5.1f%%  held %5.1f%%  width %5.2f  runs "
           "%4.1f  by the curve %5.1f%%\n",
           shape_names[shape], noise * 100, n, odds.exact * 100, odds.off_by_one * 100,
           odds.held * 100, odds.width, odds.runs, odds.fitted * 100);
    return odds;
}

/* Three standard deviations of a share that is `p`. */
static double slack(double p, uint32_t n)
{
    return 3 * sqrt(p * (1 - p) / n);
}

/* DLB_ODDS_SEARCHES: how many searches a row has, for the table of docs/storage.md. */
static void test_intervals_hold_what_they_say(void **state)
{
    (void)state;
    static const double noises[] = {0.01, 0.03, 0.1};
    static const uint32_t ns[] = {1, 4, 16, 64, 256};
    const char *asked = getenv("DLB_ODDS_SEARCHES");
    const uint32_t n_searches = asked ? (uint32_t)strtoul(asked, NULL, 10) : 60;
    for (int noise = 0; noise < 3; noise++) {
        double held = 0;
        for (int shape = 0; shape < N_SHAPES; shape++)
            for (int i = 0; i < 5; i++) {
                struct odds odds = simulate((enum shape)shape, noises[noise], ns[i], n_searches);
                assert_true(odds.held >= 0.92 - slack(0.92, n_searches));
                assert_true(odds.runs < 12 + 4 * log2(ns[i]));
                held += odds.held / (N_SHAPES * 5);
            }
        assert_true(held >= 0.92);
    }
}

/* 64 accelerators at 3%: repetitions alone found 42%, and a range 3.4 wide that held 88%. */
static void test_a_curve_beats_repetitions(void **state)
{
    (void)state;
    const uint32_t n_searches = 300;
    struct odds odds = simulate(SHARP, 0.03, 64, n_searches);
    assert_true(odds.exact >= 0.61);
    assert_true(odds.off_by_one >= 0.95);
    assert_true(odds.held >= 0.92);
    assert_true(odds.width <= 2.5);
    assert_true(odds.runs <= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_intervals_hold_what_they_say),
                                       cmocka_unit_test(test_a_curve_beats_repetitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
