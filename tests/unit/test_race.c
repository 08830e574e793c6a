#include "core/base/rng.h"
#include "core/measure/race.h"
#include "core/measure/race_fresh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 6

/* Six values of one key; the first is the smallest. */
static const uint32_t in_order[N] = {0, 1, 2, 3, 4, 5};

static struct dlb_race_input input_of(uint32_t n_cells)
{
    return (struct dlb_race_input){.n_cells = n_cells,
                                   .n_keys = 1,
                                   .rank = in_order,
                                   .levels = in_order,
                                   .tolerance = DLB_RACE_TOLERANCE,
                                   .seed = 7};
}

/* Runs the next block: the truth times noise. */
static void run_block(struct dlb_race *race, const double *rate, double scatter,
                      struct dlb_rng *rng)
{
    uint32_t block = race->n_blocks;
    double level = 0.05 * dlb_rng_normal(rng);
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (race->cells[c].runs)
            dlb_race_record(race, block, c, rate[c] * exp(level + scatter * dlb_rng_normal(rng)));
}

static uint32_t run_from(struct dlb_race *race, const double *rate, double scatter, uint32_t budget,
                         struct dlb_rng rng)
{
    uint32_t n = 0;
    while (dlb_race_next(race, DLB_RACE_RUNS(budget - n))) {
        n += dlb_race_block_runs(race);
        run_block(race, rate, scatter, &rng);
    }
    return n;
}

static uint32_t run(struct dlb_race *race, const double *rate, double scatter, uint32_t budget)
{
    return run_from(race, rate, scatter, budget, dlb_rng_seed(1, 2, 3));
}

/* A race of N cells until its last phase, whose runs are made afresh. */
static void run_until_fresh(struct dlb_race *race, const double *rate, struct dlb_rng *rng)
{
    struct dlb_race_input input = input_of(N);
    *rng = dlb_rng_seed(1, 2, 3);
    dlb_race_init(race, &input);
    while (dlb_race_next(race, DLB_RACE_UNLIMITED) && race->n_fresh == 0)
        run_block(race, rate, 0.002, rng);
}

static void the_smallest_that_loses_little(void **state)
{
    (void)state;
    const double rate[N] = {500, 900, 995, 1000, 998, 1000};
    struct dlb_race_input input = input_of(N);
    struct dlb_race race;
    dlb_race_init(&race, &input);
    uint32_t n = run(&race, rate, 0.005, 400);
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(race.recommended, 2);
    assert_true(race.rival >= 3);
    assert_true(race.probability >= DLB_RACE_DECIDE);
    assert_int_equal(race.cells[0].state, DLB_RACE_DROPPED);
    assert_int_equal(race.cells[1].state, DLB_RACE_DROPPED);
    assert_int_equal(race.cells[2].state, DLB_RACE_FINALIST);
    assert_true(fabs(race.cells[0].loss_frac.median - 0.5) < 0.01);
    assert_true(race.cells[0].loss_frac.low < 0.5 && race.cells[0].loss_frac.high > 0.5);
    assert_true(race.loss_frac.low <= 0.005 && race.loss_frac.high >= 0.005);
    assert_true(race.loss_frac.low >= 0 && race.loss_frac.high < 0.02);
    assert_true(n < 100);
    dlb_race_free(&race);
}

/* Two cells are so noisy that they look best, and the cell that is best is dropped: one of the two
 * runs against it in the last phase, which must be able to turn the answer down. */
static void fresh_pairs_can_refute_against_a_dropped_rival(void **state)
{
    (void)state;
    const double rate[N] = {500, 800, 1000, 1000, 900, 900};
    const double scatter[N] = {0.01, 0.01, 0.01, 0.01, 0.3, 0.3};
    uint32_t n_decided = 0, n_wrong = 0;
    for (uint32_t seed = 0; seed < 60; seed++) {
        struct dlb_race_input input = input_of(N);
        struct dlb_rng rng = dlb_rng_seed(seed, 7, 8);
        struct dlb_race race;
        double left = 72;
        input.seed = seed;
        dlb_race_init(&race, &input);
        while (dlb_race_next(&race, DLB_RACE_RUNS(left))) {
            left -= dlb_race_block_runs(&race);
            uint32_t block = race.n_blocks;
            double level = 0.02 * dlb_rng_normal(&rng);
            for (uint32_t c = 0; c < N; c++)
                if (race.cells[c].runs)
                    dlb_race_record(&race, block, c,
                                    rate[c] * exp(level + scatter[c] * dlb_rng_normal(&rng)));
        }
        n_decided += race.stopped == DLB_RACE_DECIDED;
        n_wrong += race.stopped == DLB_RACE_DECIDED && rate[race.recommended] < 980;
        assert_false(race.loss_frac.high > 4 * race.input.tolerance);
        dlb_race_free(&race);
    }
    assert_true(n_decided > 10);
    assert_true(n_wrong <= 2);
}

/* A cell that is far behind, where each value of the one key is a cell: effect and deviation cannot
 * be told apart, and their sum is what was measured. */
static void a_loss_is_what_was_measured(void **state)
{
    (void)state;
    const double rate[N] = {700, 800, 795, 640, 760, 800};
    for (uint32_t n = 2; n <= N; n++) {
        struct dlb_race_input input = input_of(n);
        struct dlb_race race;
        dlb_race_init(&race, &input);
        (void)run(&race, rate, 0.002, 1000);
        assert_int_equal(race.recommended, 1);
        for (uint32_t c = 0; c < n; c++) {
            struct dlb_race_interval loss = race.cells[c].loss_frac;
            if (fabs(loss.median - (1 - rate[c] / 800)) > 0.006 || loss.high - loss.low > 0.03)
                fail_msg("%u cells, %u: %g, %g to %g", n, c, loss.median, loss.low, loss.high);
        }
        dlb_race_free(&race);
    }
}

/* Only the last phase's runs make the interval: with earlier ones changed, it stays. */
static void the_interval_is_of_fresh_runs(void **state)
{
    (void)state;
    const double rate[N] = {995, 1000, 700, 700, 700, 700};
    struct dlb_race race;
    struct dlb_rng rng;
    run_until_fresh(&race, rate, &rng);
    assert_int_equal(race.recommended, 0);
    assert_int_equal(race.rival, 1);
    assert_int_equal(dlb_race_block_runs(&race), 2);
    uint32_t from = race.n_blocks, n_fresh = race.n_fresh;
    assert_int_equal(race.fresh_from, from);
    assert_true(n_fresh >= 6);
    do { /* a loss of 0.99% in every pair, whatever the race had seen */
        uint32_t block = race.n_blocks;
        dlb_race_record(&race, block, 0, 1000.0 + block);
        dlb_race_record(&race, block, 1, (1000.0 + block) * 1.01);
    } while (dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(race.n_blocks, from + n_fresh);
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_true(fabs(race.loss_frac.median - (1 - 1 / 1.01)) < 1e-9);
    assert_true(race.loss_frac.high - race.loss_frac.low < 1e-9);
    dlb_race_free(&race);
}

/* As above, but one run of the chosen cell was a third slower. */
static void one_slow_run_moves_the_loss_little(void **state)
{
    (void)state;
    const double rate[N] = {995, 1000, 700, 700, 700, 700};
    struct dlb_race race;
    struct dlb_rng rng;
    run_until_fresh(&race, rate, &rng);
    for (uint32_t i = 0; i < race.n_fresh; i++) {
        uint32_t block = race.n_blocks;
        dlb_race_record(&race, block, 0, i == 2 ? 670 : i % 2 ? 1000 : 1002);
        dlb_race_record(&race, block, 1, 1010);
    }
    assert_false(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(race.recommended, 0);
    assert_true(fabs(race.loss_frac.median - 0.0095) < 0.002);
    assert_true(race.loss_frac.low > 0.004 && race.loss_frac.high < 0.015);
    dlb_race_free(&race);
}

/* A smaller cell that looked too slow turns out to be as good. */
static void a_smaller_rival_is_taken(void **state)
{
    (void)state;
    const double rate[N] = {978, 1000, 700, 700, 700, 700};
    const double later[N] = {1000, 1000, 700, 700, 700, 700};
    struct dlb_race race;
    struct dlb_rng rng;
    run_until_fresh(&race, rate, &rng);
    assert_int_equal(race.recommended, 1);
    assert_int_equal(race.rival, 0);
    for (uint32_t left = race.n_fresh; left > 0; left--) {
        assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
        run_block(&race, later, 0.002, &rng);
    }
    assert_false(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(race.recommended, 0);
    assert_int_equal(race.rival, 1);
    assert_true(race.probability >= DLB_RACE_DECIDE);
    assert_true(race.loss_frac.high < 0.005 && race.loss_level == 0.975);
    dlb_race_free(&race);
}

/* Whether the pairs of the last phase are against cell 0, beside cell 1. */
static bool pairs_are_against(const struct dlb_race *race)
{
    struct dlb_race as = *race;
    as.recommended = 0;
    as.rival = 1;
    struct dlb_race_interval loss = dlb_race_fresh_loss(&as, 0.05);
    return loss.median > race->input.tolerance && loss.low > 0;
}

/* Of the two that ran afresh: the smaller one if it has DLB_RACE_PREFER and the pairs are not
 * against it, else the more probable one. Its loss is near the tolerance: each comes about. */
static void the_smaller_or_the_more_probable(void **state)
{
    (void)state;
    const double rate[N] = {986, 1000, 700, 700, 700, 700};
    uint32_t n_smaller = 0, n_probable = 0;
    for (uint32_t seed = 0; seed < 100; seed++) {
        struct dlb_race_input input = input_of(N);
        struct dlb_race race;
        dlb_race_init(&race, &input);
        (void)run_from(&race, rate, 0.015, 80, dlb_rng_seed(seed, 4, 5));
        if (race.stopped == DLB_RACE_DECIDED && race.recommended + race.rival == 1) {
            double small = race.cells[0].probability, large = race.cells[1].probability;
            assert_true(race.probability >= DLB_RACE_DECIDE);
            assert_true(race.recommended == 0 || small < DLB_RACE_PREFER ||
                        pairs_are_against(&race));
            assert_true(race.recommended == 1 || small >= DLB_RACE_PREFER || small >= large);
            n_smaller += race.recommended == 0;
            n_probable +=
                race.recommended == 1 && small >= DLB_RACE_DECIDE && small < DLB_RACE_PREFER;
        }
        dlb_race_free(&race);
    }
    assert_true(n_smaller > 0 && n_probable > 0);
}

/* One cell is twice as fast as the others. That no fresh run leaves a doubt of it is what counts,
 * not how far the runs scatter: 3% are six tolerances in one case, 10% are five in the other. */
static void what_is_certain_is_decided(void **state)
{
    (void)state;
    const double rate[N] = {500, 500, 500, 500, 500, 1000};
    const struct {
        double scatter, tolerance;
    } cases[] = {{0.03, 0.005}, {0.1, 0.02}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint32_t seed = 0; seed < 20; seed++) {
            struct dlb_race_input input = input_of(N);
            struct dlb_race race;
            input.tolerance = cases[i].tolerance;
            dlb_race_init(&race, &input);
            (void)run_from(&race, rate, cases[i].scatter, 216, dlb_rng_seed(seed, 6, 7));
            assert_int_equal(race.stopped, DLB_RACE_DECIDED);
            assert_int_equal(race.recommended, 5);
            assert_true(race.loss_frac.high == 0);
            dlb_race_free(&race);
        }
}

/* Fresh runs in which the chosen cell loses 10%: it is not recommended on them. */
static void fresh_runs_can_contradict(void **state)
{
    (void)state;
    const double rate[N] = {995, 1000, 700, 700, 700, 700};
    struct dlb_race race;
    struct dlb_rng rng;
    run_until_fresh(&race, rate, &rng);
    assert_int_equal(race.recommended, 0);
    const double later[N] = {900, 1000, 700, 700, 700, 700};
    for (uint32_t left = race.n_fresh; left > 0; left--) {
        assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
        run_block(&race, later, 0.002, &rng);
    }
    (void)dlb_race_next(&race, DLB_RACE_UNLIMITED);
    assert_true(race.recommended != 0);
    assert_true(isnan(race.loss_frac.median));
    dlb_race_free(&race);
}

/* The same, and no time is left to go on: the rival is recommended, as it ran in the same pairs.
 * Without pairs nothing is. */
static void the_rival_may_win_the_last_phase(void **state)
{
    (void)state;
    for (int pairs = 0; pairs < 2; pairs++) {
        const double rate[N] = {995, 1000, 700, 700, 700, 700};
        const double later[N] = {900, pairs ? 1000 : (double)NAN, 700, 700, 700, 700};
        struct dlb_race race;
        struct dlb_rng rng;
        run_until_fresh(&race, rate, &rng);
        for (uint32_t left = race.n_fresh; left > 0; left--) {
            assert_true(dlb_race_next(&race, DLB_RACE_RUNS(2)));
            run_block(&race, later, 0.002, &rng);
        }
        assert_false(dlb_race_next(&race, DLB_RACE_RUNS(0)));
        assert_int_equal(race.stopped, pairs ? DLB_RACE_DECIDED : DLB_RACE_BUDGET);
        assert_int_equal(race.recommended, pairs ? 1 : -1);
        assert_int_equal(race.rival, pairs ? 0 : -1);
        assert_true(!pairs || race.probability >= DLB_RACE_DECIDE);
        assert_true(!pairs || (race.loss_frac.median == 0 && race.loss_frac.high == 0));
        dlb_race_free(&race);
    }
}

static void a_repeated_race_says_the_same(void **state)
{
    (void)state;
    const double rate[N] = {500, 960, 985, 1000, 998, 1000};
    struct dlb_race_input input = input_of(N);
    struct dlb_race race, again;
    dlb_race_init(&race, &input);
    dlb_race_init(&again, &input);
    (void)run(&race, rate, 0.02, 300);
    uint32_t n = 0;
    while (dlb_race_next(&again, DLB_RACE_RUNS(300 - n))) {
        uint32_t block = again.n_blocks;
        n += dlb_race_block_runs(&again);
        for (uint32_t c = 0; c < N; c++) {
            double ln_rate = race.ln_rate[(size_t)block * N + c];
            assert_int_equal(again.cells[c].runs, isfinite(ln_rate));
            if (again.cells[c].runs)
                dlb_race_record(&again, block, c, exp(ln_rate));
        }
    }
    assert_int_equal(again.n_blocks, race.n_blocks);
    assert_int_equal(again.stopped, race.stopped);
    assert_int_equal(again.recommended, race.recommended);
    for (uint32_t c = 0; c < N; c++)
        assert_int_equal(again.cells[c].state, race.cells[c].state);
    dlb_race_free(&race);
    dlb_race_free(&again);
}

/* Whatever fails in a block: the next has cells that run, or there is none. */
static void a_race_whose_cells_fail_ends(void **state)
{
    (void)state;
    const double rate[N] = {995, 1000, 1000, 1000, 1000, 1000};
    struct dlb_race_input input = input_of(N);
    for (uint32_t failing = 0; failing < 9; failing++) { /* the shortest race has 9 blocks */
        struct dlb_race race;
        struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
        dlb_race_init(&race, &input);
        while (dlb_race_next(&race, DLB_RACE_UNLIMITED)) {
            assert_true(dlb_race_block_runs(&race) > 0);
            assert_true(race.n_blocks < 200);
            bool fails = race.n_blocks >= failing;
            run_block(&race, rate, 0.01, &rng);
            for (uint32_t c = 0; fails && c < N; c++)
                if (race.cells[c].runs)
                    dlb_race_fail(&race, c);
        }
        if (race.stopped == DLB_RACE_DECIDED) { /* one that rested while all others failed */
            assert_int_equal(race.rival, -1);
            assert_int_not_equal(race.cells[race.recommended].state, DLB_RACE_FAILED);
        } else {
            assert_int_equal(race.stopped, DLB_RACE_BUDGET);
            assert_int_equal(race.recommended, -1);
        }
        dlb_race_free(&race);
    }
}

/* A finalist that fails ends the last phase, and what is left races on. */
static void a_finalist_can_fail(void **state)
{
    (void)state;
    const double rate[N] = {995, 1000, 999, 700, 700, 700};
    for (int which = 0; which < 3; which++) {
        struct dlb_race race;
        struct dlb_rng rng;
        uint32_t n_after = 0;
        run_until_fresh(&race, rate, &rng);
        assert_int_equal(race.recommended, 0);
        int64_t rival = race.rival;
        run_block(&race, rate, 0.002, &rng);
        if (which != 1)
            dlb_race_fail(&race, 0);
        if (which != 0)
            dlb_race_fail(&race, (uint32_t)rival);
        while (dlb_race_next(&race, DLB_RACE_UNLIMITED) && n_after++ < 100) {
            assert_true(dlb_race_block_runs(&race) > 1);
            run_block(&race, rate, 0.002, &rng);
        }
        assert_int_equal(race.stopped, DLB_RACE_DECIDED);
        assert_true(race.recommended == (which == 1 ? 0 : which == 0 ? 1 : 3 - rival));
        dlb_race_free(&race);
    }
}

static void cells_that_fail_are_left_out(void **state)
{
    (void)state;
    const double rate[N] = {NAN, 1000, 0, 1000, 1000, 1000};
    struct dlb_race_input input = input_of(N);
    struct dlb_race race;
    dlb_race_init(&race, &input);
    dlb_race_fail(&race, 1);
    (void)run(&race, rate, 0.005, 400);
    assert_int_equal(race.cells[0].state, DLB_RACE_FAILED);
    assert_int_equal(race.cells[1].state, DLB_RACE_FAILED);
    assert_int_equal(race.cells[2].state, DLB_RACE_FAILED);
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(race.recommended, 3);
    assert_true(isnan(race.cells[1].loss_frac.median));
    dlb_race_free(&race);
}

static void one_cell_or_none(void **state)
{
    (void)state;
    const double one[] = {1000}, none[] = {NAN};
    struct dlb_race_input input = input_of(1);
    struct dlb_race race;
    dlb_race_init(&race, &input);
    assert_int_equal(run(&race, one, 0.05, 100), DLB_RACE_FIRST_LOOK);
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(race.recommended, 0);
    assert_int_equal(race.rival, -1);
    assert_true(isnan(race.loss_frac.high) && isnan(race.noise_floor_frac)); /* to what, of what? */
    dlb_race_free(&race);
    dlb_race_init(&race, &input);
    (void)run(&race, none, 0.05, 100);
    assert_int_equal(race.recommended, -1);
    assert_int_equal(race.stopped, DLB_RACE_BUDGET);
    dlb_race_free(&race);
}

static void noise_is_said_to_be_noise(void **state)
{
    (void)state;
    const double rate[N] = {1000, 1000, 1000, 1000, 1000, 1000};
    struct dlb_race_input input = input_of(N);
    struct dlb_race race;
    dlb_race_init(&race, &input);
    (void)run(&race, rate, 0.3, 100000);
    assert_int_equal(race.stopped, DLB_RACE_NOISE);
    assert_int_equal(race.recommended, -1);
    assert_true(race.blocks_more > 200);
    assert_true(race.noise_floor_frac > 0.1);
    assert_true(race.n_blocks < 20);
    dlb_race_free(&race);
}

/* Two runs of each cell are no race: nothing is recommended, and no run is made beyond the limit.
 */
static void a_budget_is_kept(void **state)
{
    (void)state;
    const double rate[N] = {1000, 1000, 1000, 1000, 1000, 1000};
    struct dlb_race_input input = input_of(N);
    for (uint32_t budget = 0; budget < 120; budget++) {
        struct dlb_race race;
        dlb_race_init(&race, &input);
        assert_true(run(&race, rate, 0.02, budget) <= budget);
        assert_true(race.stopped == DLB_RACE_DECIDED || race.stopped == DLB_RACE_BUDGET);
        assert_true((race.recommended >= 0) == (race.stopped == DLB_RACE_DECIDED));
        if (budget < 3 * N)
            assert_int_equal(race.stopped, DLB_RACE_BUDGET);
        dlb_race_free(&race);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_that_loses_little),
        cmocka_unit_test(fresh_pairs_can_refute_against_a_dropped_rival),
        cmocka_unit_test(a_loss_is_what_was_measured),
        cmocka_unit_test(the_interval_is_of_fresh_runs),
        cmocka_unit_test(one_slow_run_moves_the_loss_little),
        cmocka_unit_test(a_smaller_rival_is_taken),
        cmocka_unit_test(the_smaller_or_the_more_probable),
        cmocka_unit_test(what_is_certain_is_decided),
        cmocka_unit_test(fresh_runs_can_contradict),
        cmocka_unit_test(the_rival_may_win_the_last_phase),
        cmocka_unit_test(a_repeated_race_says_the_same),
        cmocka_unit_test(a_race_whose_cells_fail_ends),
        cmocka_unit_test(a_finalist_can_fail),
        cmocka_unit_test(cells_that_fail_are_left_out),
        cmocka_unit_test(one_cell_or_none),
        cmocka_unit_test(noise_is_said_to_be_noise),
        cmocka_unit_test(a_budget_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
