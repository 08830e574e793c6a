/* No rung is said to be faster than another by less than the noise. */
#include "core/base/rng.h"

#include <stdio.h>

#include "tests/support/gap_bench.h"

enum { DIRECT, LOADER, FIRST, SECOND, N_RUNGS };
static const char *const names[N_RUNGS] = {"torch-direct", "torch-dataloader",
                                           "torch-batch-sampler", "torch-gather"};
#define N_LADDERS 400

static void add(struct bench *b, uint32_t rung, uint32_t block, double seconds)
{
    char text[80];
    json_error_t why;
    (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %.9g}", seconds);
    json_t *doc = json_loads(text, 0, &why);
    struct dlb_cell_result result;
    struct dlb_err err;
    assert_int_equal(dlb_cell_result_from_json(&result, doc, &err), DLB_OK);
    result.document = doc;
    result.block = block;
    dlb_reps_add(&b->results.cells[rung], &result);
}

/* Each rung takes `truth` seconds, but for noise and for what its block has. */
static void judge(struct bench *b, const double *truth, uint32_t n, double scatter, uint64_t seed)
{
    struct dlb_rng rng = dlb_rng_seed(seed, n, 1);
    open_bench(b, names, N_RUNGS);
    for (uint32_t block = 0; block < n; block++) {
        double level = 0.05 * dlb_rng_normal(&rng);
        for (uint32_t i = 0; i < N_RUNGS; i++)
            add(b, i, block, truth[i] * exp(level + scatter * dlb_rng_normal(&rng)));
    }
    dlb_gap_judge(&b->plan, &b->results, &b->setting, &b->j);
}

static void close_bench(struct bench *b)
{
    dlb_gap_judgement_free(&b->j);
    dlb_results_free(&b->results);
    dlb_plan_free(&b->plan);
}

/* Of two equal rungs one is said to be faster in 5% of the ladders at most, whatever the number of
 * repetitions: that those of one are all faster happens by chance in a third of the cases with two.
 */
static void test_equal_rungs_have_no_order(void **state)
{
    (void)state;
    static const double truth[N_RUNGS] = {1, 1, 1, 1};
    static const uint32_t repeats[] = {2, 3, 5, 12};
    for (size_t i = 0; i < sizeof(repeats) / sizeof(*repeats); i++) {
        uint32_t n_faster = 0, n_floor = 0;
        for (uint64_t seed = 0; seed < N_LADDERS; seed++) {
            struct bench b;
            judge(&b, truth, repeats[i], 0.03, seed);
            const struct dlb_gap_judged *one = &b.j.rung[FIRST], *other = &b.j.rung[SECOND];
            n_faster += dlb_gap_is_faster(&b.j, one, other) || dlb_gap_is_faster(&b.j, other, one);
            n_floor += b.j.noise_floor_frac > 0;
            close_bench(&b);
        }
        assert_int_equal(n_floor, N_LADDERS);
        /* 5%, and three standard deviations of what chance allows */
        if (n_faster > N_LADDERS * 0.05 + 3 * sqrt(N_LADDERS * 0.05 * 0.95))
            fail_msg("%u repetitions: %u of %d", repeats[i], n_faster, N_LADDERS);
    }
}

static void test_what_is_above_the_noise_is_told(void **state)
{
    (void)state;
    static const double truth[N_RUNGS] = {0.5, 2, 1, 1.2};
    struct bench b;
    judge(&b, truth, 5, 0.01, 1);
    assert_true(b.j.noise_floor_frac > 0.002 && b.j.noise_floor_frac < 0.05);
    assert_int_equal(b.j.n_cures, 2);
    assert_string_equal(b.j.cure[0].rung->name, "torch-batch-sampler");
    assert_true(b.j.cure[0].helps && b.j.cure[1].helps && !b.j.cure[1].tied);
    close_bench(&b);
}

/* 10% of noise, and a gap of 1%. */
static void test_a_gap_below_the_noise_helps_nobody(void **state)
{
    (void)state;
    static const double truth[N_RUNGS] = {0.99, 1, 0.99, 0.995};
    struct bench b;
    judge(&b, truth, 5, 0.1, 1);
    assert_true(b.j.noise_floor_frac > 0.05);
    for (uint32_t i = 0; i < b.j.n_cures; i++)
        assert_false(b.j.cure[i].helps || b.j.cure[i].tied);
    close_bench(&b);
}

static void test_one_repetition_has_no_floor(void **state)
{
    (void)state;
    static const double truth[N_RUNGS] = {1, 2, 1, 1};
    struct bench b;
    judge(&b, truth, 1, 0.01, 1);
    assert_true(isnan(b.j.noise_floor_frac));
    assert_false(dlb_gap_is_faster(&b.j, &b.j.rung[FIRST], &b.j.rung[LOADER]));
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_rungs_have_no_order),
        cmocka_unit_test(test_what_is_above_the_noise_is_told),
        cmocka_unit_test(test_a_gap_below_the_noise_helps_nobody),
        cmocka_unit_test(test_one_repetition_has_no_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
