/* Which rank holds up the others: TraceML's rule, and how often it is wrong with noise. */
#include "core/base/rng.h"
#include "core/measure/straggler.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N 4

/* Ranks that step alone: own parts, joined. */
static void alone(struct dlb_rank_step *steps, const double (*parts)[3], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        steps[i] = (struct dlb_rank_step){.step_ms = parts[i][0] + parts[i][1] + parts[i][2],
                                          .input_ms = parts[i][0],
                                          .h2d_ms = parts[i][1],
                                          .compute_ms = parts[i][2]};
    dlb_rank_steps_join(steps, n);
}

static void test_each_cause(void **state)
{
    (void)state;
    static const struct {
        double parts[N][3];
        enum dlb_straggler_kind kind;
        uint32_t culprit;
    } rows[] = {
        {{{0, 0, 10}, {0, 0, 10}, {5, 0, 10}, {0, 0, 10}}, DLB_STRAGGLER_INPUT, 2},
        {{{0, 0, 10}, {0, 0, 14}, {0, 0, 10}, {0, 0, 10}}, DLB_STRAGGLER_COMPUTE, 1},
        {{{0, 3, 10}, {0, 0, 10}, {0, 0, 10}, {0, 0, 10}}, DLB_STRAGGLER_H2D, 0},
        {{{0, 0, 10}, {0, 0, 10}, {0, 0, 10}, {1, 1, 11}}, DLB_STRAGGLER_OTHER, 3},
        {{{0, 0, 10}, {0, 0, 10}, {0, 0, 10}, {0.9, 0, 10}}, DLB_STRAGGLER_NONE, 0},
        {{{2, 0, 10}, {2, 0, 10}, {2, 0, 10}, {2, 0, 10}}, DLB_STRAGGLER_NONE, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlb_rank_step steps[N];
        struct dlb_straggler out;
        alone(steps, rows[i].parts, N);
        dlb_straggler_find(steps, N, &out);
        assert_int_equal(out.kind, rows[i].kind);
        if (out.kind != DLB_STRAGGLER_NONE)
            assert_int_equal(out.culprit, rows[i].culprit);
    }
}

/* 1.5 ms of a step of 11.5 ms: cost over the step that all have. */
static void test_score(void **state)
{
    (void)state;
    const double parts[N][3] = {{0, 0, 10}, {1.5, 0, 10}, {0, 0, 10}, {0, 0, 10}};
    struct dlb_rank_step steps[N];
    struct dlb_straggler out;
    alone(steps, parts, N);
    dlb_straggler_find(steps, N, &out);
    assert_int_equal(out.kind, DLB_STRAGGLER_INPUT);
    assert_true(fabs(out.cost_ms - 1.5) < 1e-9 && fabs(out.score - 1.5 / 11.5) < 1e-9);
    assert_true(out.culprit_ms == 1.5 && out.victim_ms == 0);
    assert_string_equal(dlb_straggler_name(out.kind), "INPUT STRAGGLER");
}

static void test_unknown(void **state)
{
    (void)state;
    const double parts[2][3] = {{0, 0, 10}, {(double)NAN, 0, 10}};
    struct dlb_rank_step steps[2];
    struct dlb_straggler out;
    alone(steps, parts, 2);
    dlb_straggler_find(steps, 2, &out);
    assert_int_equal(out.kind, DLB_STRAGGLER_NONE);
    dlb_straggler_find(steps, 1, &out);
    assert_int_equal(out.kind, DLB_STRAGGLER_NONE);
    assert_null(dlb_straggler_name(DLB_STRAGGLER_NONE));
}

/* Of a rank without a step, and of one whose answer is damaged. */
static void test_not_finite(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    static const struct dlb_rank_step well = {.step_ms = 10, .wait_ms = 5};
    const struct {
        struct dlb_rank_step culprit;
        enum dlb_straggler_kind kind;
    } rows[] = {
        {{.step_ms = inf}, DLB_STRAGGLER_NONE},
        {{.step_ms = 10, .wait_ms = -inf}, DLB_STRAGGLER_NONE},
        {{.step_ms = 10, .wait_ms = -DBL_MAX}, DLB_STRAGGLER_OTHER},
        {{.step_ms = 10, .input_ms = inf, .h2d_ms = nan, .compute_ms = 5}, DLB_STRAGGLER_COMPUTE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct dlb_rank_step steps[2] = {rows[i].culprit, well};
        struct dlb_straggler out;
        dlb_straggler_find(steps, 2, &out);
        assert_int_equal(out.kind, rows[i].kind);
        assert_true(out.kind == DLB_STRAGGLER_NONE ||
                    (isfinite(out.cost_ms) && isfinite(out.score) && isfinite(out.culprit_ms) &&
                     isfinite(out.victim_ms)));
    }
    const struct dlb_rank_step least[2] = {{.step_ms = 1e-300, .wait_ms = 0},
                                           {.step_ms = 1e-300, .wait_ms = 1e300}};
    struct dlb_straggler out;
    dlb_straggler_find(least, 2, &out);
    assert_int_equal(out.kind, DLB_STRAGGLER_NONE);
}

static double uniform(uint64_t *seed)
{
    *seed += DLB_GOLDEN;
    return (double)(dlb_mix64(*seed) >> 11) / 9007199254740992.0;
}

/* Near a normal distribution, of standard deviation 1. */
static double noise(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(seed);
    return sum;
}

/* Of 2,000 runs, in which each rank's mean step scatters by `cv` and a plant of `plant` of the step
 * is on one rank's input: how often each answer comes. A run names a straggler below the rule's
 * limit only if the scatter of several ranks is as large as the limit. */
static void test_odds(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double cv, plant;
        double least_right, most_wrong; /* INPUT at the planted rank; any straggler elsewhere */
    } rows[] = {
        {4, 0.01, 0.00, 0.00, 0.000},  {64, 0.01, 0.00, 0.00, 0.000}, {4, 0.03, 0.00, 0.00, 0.010},
        {64, 0.03, 0.00, 0.00, 0.150}, {4, 0.01, 0.30, 0.99, 0.000},  {64, 0.01, 0.30, 0.99, 0.000},
        {4, 0.03, 0.50, 0.97, 0.000},  {64, 0.03, 0.50, 0.97, 0.000},
    };
    enum { RUNS = 2000, MAX = 64 };
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        uint64_t seed = r;
        uint32_t n_right = 0, n_wrong = 0;
        for (int k = 0; k < RUNS; k++) {
            double parts[MAX][3];
            struct dlb_rank_step steps[MAX];
            struct dlb_straggler out;
            uint32_t planted = (uint32_t)k % rows[r].n;
            for (uint32_t i = 0; i < rows[r].n; i++) {
                parts[i][0] = i == planted ? 10 * rows[r].plant : 0;
                parts[i][1] = 0;
                parts[i][2] = 10 * (1 + rows[r].cv * noise(&seed));
            }
            alone(steps, (const double(*)[3])parts, rows[r].n);
            dlb_straggler_find(steps, rows[r].n, &out);
            n_right += out.kind == DLB_STRAGGLER_INPUT && out.culprit == planted;
            n_wrong +=
                out.kind != DLB_STRAGGLER_NONE && (rows[r].plant == 0 || out.culprit != planted);
        }
        if (n_right < rows[r].least_right * RUNS || n_wrong > rows[r].most_wrong * RUNS)
            fail_msg("%u ranks, cv %.2f, plant %.2f: right %u, wrong %u of %d", rows[r].n,
                     rows[r].cv, rows[r].plant, n_right, n_wrong, RUNS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cause), cmocka_unit_test(test_score),
        cmocka_unit_test(test_unknown),    cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_odds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
