/* Changes between results, their intervals and verdicts: worked cases, and simulated results. */
#include "core/measure/compare.h"

#include "core/base/rng.h"
#include "core/measure/tail.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_CELLS = 12, MOST_REPS = 10, MOST_RESULTS = 4, TIMES = 1000 };

static void assert_close(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fmax(fabs(wanted), 1e-3)))
        fail_msg("%.12g is not %.12g", value, wanted);
}

static struct dlb_compare one_of_each(const struct dlb_compare_cell *cells, uint32_t n)
{
    return (struct dlb_compare){
        .cells = cells, .n_cells = n, .n_a = 1, .n_b = 1, .smallest_frac = DLB_COMPARE_SMALLEST};
}

/* Pairs: the interval of t on the differences. */
static void test_pairs(void **state)
{
    (void)state;
    const double a[] = {100, 200, 400, NAN, 100}, b[] = {110, 220, 440 * exp(0.03), 5, -1};
    struct dlb_compare_reps of_a = {a, 5}, of_b = {b, 5};
    struct dlb_compare_cell cell = {&of_a, &of_b};
    struct dlb_compare in = one_of_each(&cell, 1);
    struct dlb_change change;
    struct dlb_comparison over;
    in.paired = true;
    in.between_frac = 0.5; /* has no part in pairs */
    dlb_compare(&in, &change, &over);
    double sd = sqrt(2 * 0.01 * 0.01 + 0.02 * 0.02) / sqrt(2), se = sd / sqrt(3);
    assert_close(change.change_frac, 1.1 * exp(0.01) - 1);
    assert_close(change.low, 1.1 * exp(0.01 - dlb_t_95(2) * se) - 1);
    assert_close(change.high, 1.1 * exp(0.01 + dlb_t_95(2) * se) - 1);
    assert_close(change.detectable_frac, 1.01 * exp((dlb_t_95(2) + dlb_t_beyond(0.4, 2)) * se) - 1);
    assert_int_equal(change.verdict, DLB_COMPARE_FASTER);
    assert_int_equal(over.all.verdict, DLB_COMPARE_FASTER);
    assert_int_equal(over.n_intervals, 1);
    assert_close(over.noise_frac, sd);
    assert_true(over.result_frac == 0);
}

/* One result on each side: the noise, what of it carries over, and the allowance. */
static void test_allowance(void **state)
{
    (void)state;
    const double a[] = {100, 100 * exp(0.02)}, b[] = {100, 100 * exp(-0.02)};
    struct dlb_compare_reps of_a = {a, 2}, of_b = {b, 2};
    struct dlb_compare_cell cell = {&of_a, &of_b};
    struct dlb_compare in = one_of_each(&cell, 1);
    struct dlb_change change;
    struct dlb_comparison over;
    in.between_frac = 0.05;
    dlb_compare(&in, &change, &over);
    double noise = 2e-4, fixed = 2 * 0.05 * 0.05;
    double estimated = noise * (1 + 2 * DLB_COMPARE_CARRIED), variance = fixed + estimated;
    double freedom = variance * variance / (estimated * estimated / 2);
    double half = dlb_t_beyond(0.05, freedom) * sqrt(variance);
    assert_close(change.low, exp(-0.02 - half) - 1);
    assert_close(change.high, exp(-0.02 + half) - 1);
    assert_int_equal(change.verdict, DLB_COMPARE_UNCLEAR);
}

static void test_too_few(void **state)
{
    (void)state;
    const double one[] = {100}, other[] = {200};
    struct dlb_compare_reps a[] = {{one, 1}, {one, 0}}, b[] = {{other, 1}, {other, 1}};
    struct dlb_compare_cell cells[] = {{&a[0], &b[0]}, {&a[1], &b[1]}};
    struct dlb_compare in = one_of_each(cells, 2);
    struct dlb_change changes[2];
    struct dlb_comparison over;
    dlb_compare(&in, changes, &over);
    assert_close(changes[0].change_frac, 1);
    assert_true(isnan(changes[0].low) && isnan(changes[0].detectable_frac));
    assert_int_equal(changes[0].verdict, DLB_COMPARE_UNCLEAR);
    assert_true(isnan(changes[1].change_frac));
    assert_int_equal(over.all.verdict, DLB_COMPARE_UNCLEAR);
    assert_int_equal(over.n_intervals, 3);
}

/* A mean of opposite changes is no answer. */
static void test_mean_of_opposites(void **state)
{
    (void)state;
    const double low[] = {100, 100.01, 99.99}, high[] = {120, 120.01, 119.99};
    struct dlb_compare_reps l = {low, 3}, h = {high, 3};
    struct dlb_compare_cell cells[] = {{&l, &h}, {&h, &l}, {&l, &l}};
    struct dlb_compare in = one_of_each(cells, 2);
    struct dlb_change changes[3];
    struct dlb_comparison over;
    dlb_compare(&in, changes, &over);
    assert_int_equal(changes[0].verdict, DLB_COMPARE_FASTER);
    assert_int_equal(changes[1].verdict, DLB_COMPARE_SLOWER);
    assert_int_equal(over.all.verdict, DLB_COMPARE_UNCLEAR);
    in.cells = cells + 2;
    in.n_cells = 1;
    dlb_compare(&in, changes, &over);
    assert_int_equal(over.all.verdict, DLB_COMPARE_SAME);
}

static void test_verdicts(void **state)
{
    (void)state;
    assert_int_equal(dlb_compare_judge(0.011, 0.5, 0.01), DLB_COMPARE_FASTER);
    assert_int_equal(dlb_compare_judge(-0.5, -0.011, 0.01), DLB_COMPARE_SLOWER);
    assert_int_equal(dlb_compare_judge(-0.009, 0.009, 0.01), DLB_COMPARE_SAME);
    assert_int_equal(dlb_compare_judge(0.009, 0.02, 0.01), DLB_COMPARE_UNCLEAR);
    assert_int_equal(dlb_compare_judge(-0.02, 0.02, 0.01), DLB_COMPARE_UNCLEAR);
    assert_int_equal(dlb_compare_judge(NAN, 0.02, 0.01), DLB_COMPARE_UNCLEAR);
    assert_string_equal(dlb_compare_verdict_name(DLB_COMPARE_SLOWER), "SLOWER");
}

static void test_figures(void **state)
{
    (void)state;
    struct dlb_compare how = {.smallest_frac = 0.01};
    struct dlb_compare_figure a = {10, 9, 11}, b = {15, 14, 17}, none = {10, NAN, 11};
    struct dlb_change change;
    dlb_compare_figures(&a, &b, &how, 1, &change);
    assert_close(change.change_frac, 0.5);
    assert_close(change.low, 1.5 * exp(-hypot(log(1.1), log(15.0 / 14))) - 1);
    assert_close(change.high, 1.5 * exp(hypot(log(10.0 / 9), log(17.0 / 15))) - 1);
    assert_int_equal(change.verdict, DLB_COMPARE_FASTER);
    dlb_compare_figures(&none, &b, &how, 1, &change);
    assert_true(isnan(change.low) && change.verdict == DLB_COMPARE_UNCLEAR);
    dlb_compare_parts(&a, &b, 100, &how, 1, &change);
    assert_close(change.change_frac, -0.05);
    assert_close(change.low, -0.05 - hypot(0.01, 0.02));
    assert_close(change.high, -0.05 + hypot(0.01, 0.01));
    assert_int_equal(change.verdict, DLB_COMPARE_SLOWER);
    how.between_frac = 0.1;
    dlb_compare_parts(&a, &b, 100, &how, 2, &change);
    assert_int_equal(change.verdict, DLB_COMPARE_UNCLEAR);
}

/* --- simulated results --- */

/* Standard deviations of ln(rate). slow: of what wanders from repetition to repetition, each 0.8 of
 * the one before plus new, as drift does; it is part of the noise. */
struct world {
    uint32_t n_cells, n_reps, n_results;
    double noise, slow, result;
    bool paired;
    double disturbed; /* share of the repetitions */
};

static double normal(struct dlb_rng *rng)
{
    double u = ((double)(dlb_rng_u64(rng) >> 11) + 0.5) * 0x1p-53;
    double v = (double)(dlb_rng_u64(rng) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static double rates[2][MOST_RESULTS][MOST_CELLS][MOST_REPS];

static void fill_result(const struct world *w, struct dlb_rng *rng, int side, uint32_t r,
                        double change)
{
    const double carried = 0.8;
    double own = w->result * normal(rng), slow = w->slow * normal(rng);
    for (uint32_t i = 0; i < w->n_reps; i++) {
        for (uint32_t c = 0; c < w->n_cells; c++)
            rates[side][r][c][i] = exp(own + slow + w->noise * normal(rng) + side * change);
        slow = carried * slow + sqrt(1 - carried * carried) * w->slow * normal(rng);
    }
}

struct outcome {
    bool any_different, all_right; /* all_right: every interval holds the change */
    bool all_found;                /* every cell is called as it is */
    double detectable;
};

static struct outcome simulate(const struct world *w, struct dlb_rng *rng, double change)
{
    struct dlb_compare_reps reps[MOST_CELLS][2][MOST_RESULTS];
    struct dlb_compare_cell cells[MOST_CELLS];
    struct dlb_change changes[MOST_CELLS];
    struct dlb_comparison over;
    for (int side = 0; side < 2; side++)
        for (uint32_t r = 0; r < w->n_results; r++)
            fill_result(w, rng, side, r, change);
    for (uint32_t c = 0; c < w->n_cells; c++) {
        for (int side = 0; side < 2; side++)
            for (uint32_t r = 0; r < w->n_results; r++)
                reps[c][side][r] = (struct dlb_compare_reps){rates[side][r][c], w->n_reps};
        cells[c] = (struct dlb_compare_cell){reps[c][0], reps[c][1]};
    }
    struct dlb_compare in = {.cells = cells,
                             .n_cells = w->n_cells,
                             .n_a = w->n_results,
                             .n_b = w->n_results,
                             .paired = w->paired,
                             .smallest_frac = DLB_COMPARE_SMALLEST,
                             .between_frac = DLB_COMPARE_BETWEEN,
                             .disturbed_frac = w->disturbed};
    dlb_compare(&in, changes, &over);
    struct outcome out = {.all_right = true, .all_found = true, .detectable = 0};
    double truth = expm1(change);
    for (uint32_t c = 0; c < w->n_cells; c++) {
        enum dlb_compare_verdict v = changes[c].verdict;
        out.any_different |= v == DLB_COMPARE_FASTER || v == DLB_COMPARE_SLOWER;
        out.all_right &= changes[c].low <= truth && truth <= changes[c].high;
        out.all_found &= v == (change < 0 ? DLB_COMPARE_SLOWER : DLB_COMPARE_FASTER);
        out.detectable = fmax(out.detectable, changes[c].detectable_frac);
    }
    enum dlb_compare_verdict v = over.all.verdict;
    out.any_different |= v == DLB_COMPARE_FASTER || v == DLB_COMPARE_SLOWER;
    out.all_right &= over.all.low <= truth && truth <= over.all.high;
    return out;
}

static double typical_detectable(const struct world *w, struct dlb_rng *rng)
{
    double sum = 0;
    for (int i = 0; i < 200; i++)
        sum += simulate(w, rng, 0).detectable;
    return sum / 200;
}

/* The table of docs/compare.md. */
static void test_operating_characteristics(void **state)
{
    (void)state;
    static const struct {
        struct world w;
        double most_different, least_right, least_found; /* of twice the detectable change */
    } rows[] = {
        /* cells, repetitions, results; noise, slow, result */
        {{1, 5, 1, 0.01, 0, 0, false, 0}, 0.01, 0.95, 0.9},
        {{1, 5, 1, 0.01, 0, 0.01, false, 0}, 0.01, 0.95, 0.9},
        {{1, 5, 1, 0.01, 0, 0.02, false, 0}, 0.10, 0.80, 0.9},
        {{1, 5, 1, 0.03, 0, 0.01, false, 0}, 0.01, 0.95, 0.9},
        {{1, 5, 1, 0.02, 0.02, 0.01, false, 0}, 0.02, 0.95, 0.9},
        {{1, 3, 1, 0.02, 0.02, 0.01, false, 0}, 0.04, 0.94, 0.9},
        {{12, 5, 1, 0.02, 0.02, 0.01, false, 0}, 0.02, 0.97, 0.9},
        {{1, 5, 1, 0.1, 0.1, 0.2, false, 1}, 0.06, 0.93, 0.9},
        {{1, 5, 4, 0.01, 0, 0.02, false, 0}, 0.04, 0.92, 0.9},
        {{1, 5, 4, 0.01, 0, 0.05, false, 0}, 0.06, 0.92, 0.9},
        {{1, 8, 1, 0.03, 0.05, 0.05, true, 0}, 0.04, 0.93, 0.9},
        {{12, 5, 1, 0.03, 0.05, 0.05, true, 0}, 0.04, 0.95, 0.9},
    };
    struct dlb_rng rng = dlb_rng_seed(7, 1, 2);
    printf("cells reps results noise slow result paired disturbed | different  right  detectable  "
           "found\n");
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        struct world w = rows[k].w;
        if (w.paired)
            w.result = w.slow = 0; /* both sides of a pair have the same */
        double detectable = typical_detectable(&w, &rng), n_different = 0, n_right = 0, n_found = 0;
        for (int i = 0; i < TIMES; i++) {
            struct outcome none = simulate(&w, &rng, 0);
            struct outcome planted = simulate(&w, &rng, log1p(2 * detectable));
            n_different += none.any_different;
            n_right += none.all_right;
            n_found += planted.all_found;
        }
        printf("%5u %4u %7u %5.3f %4.2f %6.2f %6s %9.1f | %9.4f %6.3f %11.3f %6.3f\n", w.n_cells,
               w.n_reps, w.n_results, w.noise, w.slow, w.result, w.paired ? "yes" : "no",
               w.disturbed, n_different / TIMES, n_right / TIMES, detectable, n_found / TIMES);
        assert_true(n_different / TIMES <= rows[k].most_different);
        assert_true(n_right / TIMES >= rows[k].least_right);
        assert_true(n_found / TIMES >= rows[k].least_found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_allowance),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_mean_of_opposites),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_operating_characteristics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
