/* What the first block of a race has left far behind rests: values of keys, not single runs. */
#include "core/base/rng.h"
#include "core/measure/race.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define N 14
#define HALF (N / 2)

/* Two ways of reading x seven numbers of workers, as a sweep of HDF5 has them. */
static uint32_t rank[N], levels[2 * N];

static struct dlb_race_input input_of(uint64_t seed)
{
    for (uint32_t c = 0; c < N; c++) {
        rank[c] = c;
        levels[2 * c] = c / HALF;
        levels[2 * c + 1] = c % HALF;
    }
    return (struct dlb_race_input){.n_cells = N,
                                   .n_keys = 2,
                                   .rank = rank,
                                   .levels = levels,
                                   .tolerance = DLB_RACE_TOLERANCE,
                                   .seed = seed};
}

static void run_block(struct dlb_race *race, const double *rate, double scatter,
                      struct dlb_rng *rng)
{
    uint32_t block = race->n_blocks;
    double level = 0.02 * dlb_rng_normal(rng);
    for (uint32_t c = 0; c < N; c++)
        if (race->cells[c].runs)
            dlb_race_record(race, block, c, rate[c] * exp(level + scatter * dlb_rng_normal(rng)));
}

static uint32_t n_runs_of(const struct dlb_race *race, uint32_t cell)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < race->n_blocks; b++)
        n += isfinite(race->ln_rate[(size_t)b * N + cell]);
    return n;
}

/* The second way is 40 times slower: its cells run once, one of them twice, and their loss is known
 * all the same. */
static void a_slow_way_runs_once(void **state)
{
    (void)state;
    struct dlb_race_input input = input_of(7);
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_race race;
    double rate[N], left = 216;
    for (uint32_t c = 0; c < N; c++)
        rate[c] = (c < HALF ? 40 : 1) * fmin(c % HALF + 3, 6);
    dlb_race_init(&race, &input);
    while (dlb_race_next(&race, DLB_RACE_RUNS(left))) {
        uint32_t n_slow = 0;
        for (uint32_t c = HALF; c < N; c++)
            n_slow += race.cells[c].runs;
        assert_int_equal(n_slow, race.n_blocks == 0 ? HALF : race.n_blocks == 1);
        for (uint32_t c = HALF; c < N && race.n_blocks > 0 && race.n_blocks < 3; c++)
            assert_int_equal(race.cells[c].state, DLB_RACE_SCREENED);
        left -= dlb_race_block_runs(&race);
        run_block(&race, rate, 0.01, &rng);
    }
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(race.recommended, 3);
    for (uint32_t c = HALF; c < N; c++) {
        double loss = 1 - rate[c] / 240;
        assert_int_equal(race.cells[c].state, DLB_RACE_DROPPED);
        assert_true(fabs(race.cells[c].loss_frac.median - loss) < 0.003);
        assert_true(race.cells[c].loss_frac.low < loss && loss < race.cells[c].loss_frac.high);
    }
    dlb_race_free(&race);
}

/* A race behind its first block, which had these rates. */
static void run_first_block(struct dlb_race *race, const double *rate)
{
    struct dlb_race_input input = input_of(7);
    dlb_race_init(race, &input);
    assert_true(dlb_race_next(race, DLB_RACE_UNLIMITED));
    for (uint32_t c = 0; c < N; c++)
        dlb_race_record(race, 0, c, rate[c]);
    assert_true(dlb_race_next(race, DLB_RACE_UNLIMITED));
}

/* One run was hit: its way and its number of workers are as fast as others elsewhere. */
static void one_slow_run_rests_nowhere(void **state)
{
    (void)state;
    const double rate[N] = {100, 100, 100, 100, 1, 100, 100, 100, 100, 100, 100, 100, 100, 100};
    struct dlb_race race;
    run_first_block(&race, rate);
    assert_int_equal(dlb_race_block_runs(&race), N);
    dlb_race_free(&race);
}

static bool run_of_six(uint32_t cell)
{
    return cell % HALF == 6;
}

/* 100, but of the cells of six workers. */
static void rates_with_six_at(double *rate, double six)
{
    for (uint32_t c = 0; c < N; c++)
        rate[c] = run_of_six(c) ? six : 100;
}

/* Both runs of six workers, which are the best, were hit. One of them runs again and shows it. */
static void a_value_that_was_hit_runs_on(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_race race;
    double rate[N], first[N];
    rates_with_six_at(rate, 110);
    rates_with_six_at(first, 27);
    run_first_block(&race, first);
    assert_int_equal(race.cells[6].state, DLB_RACE_SCREENED);
    assert_int_equal(race.cells[13].state, DLB_RACE_SCREENED);
    assert_int_equal(race.cells[6].runs + race.cells[13].runs, 1);
    run_block(&race, rate, 0.01, &rng);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(dlb_race_block_runs(&race), N);
    run_block(&race, rate, 0.01, &rng);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(race.n_looked, 0); /* two runs of most of its cells: which was hit? */
    do
        run_block(&race, rate, 0.01, &rng);
    while (dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_true(race.n_looked >= 4);
    assert_int_equal(race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(race.recommended, 6);
    dlb_race_free(&race);
}

/* The block before its later first look is too dear: then it looks at what there is. */
static void a_later_look_is_not_lost(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_race race;
    double rate[N], first[N];
    rates_with_six_at(rate, 100);
    rates_with_six_at(first, 27);
    run_first_block(&race, first);
    run_block(&race, rate, 0.01, &rng);
    assert_true(dlb_race_next(&race, DLB_RACE_RUNS(N)));
    run_block(&race, rate, 0.01, &rng);
    (void)dlb_race_next(&race, DLB_RACE_RUNS(N - 1));
    assert_int_equal(race.n_looked, 3);
    assert_true(race.leader >= 0);
    dlb_race_free(&race);
}

/* The run that was to confirm that a value rests failed: the next fastest cell runs, and the look
 * is a block later. Where that shows the value to be as good as others, its cells race on. */
static void a_confirmation_that_failed_is_made_up_for(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_race race;
    double rate[N], first[N];
    rates_with_six_at(rate, 100);
    for (uint32_t c = 0; c < N; c++)
        first[c] = c < HALF ? 100 : 20 + c;
    run_first_block(&race, first);
    for (uint32_t c = HALF; c < N; c++)
        assert_int_equal(race.cells[c].runs, c == N - 1);
    rate[N - 1] = 0;
    run_block(&race, rate, 0.01, &rng);
    dlb_race_fail(&race, N - 1);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    for (uint32_t c = HALF; c < N; c++)
        assert_int_equal(race.cells[c].runs, c == N - 2);
    run_block(&race, rate, 0.01, &rng);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(race.n_looked, 0);
    for (uint32_t c = HALF; c < N; c++)
        assert_int_equal(race.cells[c].runs, c < N - 1);
    dlb_race_free(&race);
}

/* One cell of a value that two have fails later: what it showed counts. */
static void a_failed_cell_still_shows_its_value_slow(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_race race;
    double rate[N];
    for (uint32_t c = 0; c < N; c++)
        rate[c] = run_of_six(c) ? 2 + c / HALF : 100;
    run_first_block(&race, rate);
    run_block(&race, rate, 0.01, &rng);
    dlb_race_fail(&race, 13);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    assert_int_equal(race.cells[6].state, DLB_RACE_SCREENED);
    assert_int_equal(race.cells[6].runs, 0);
    dlb_race_free(&race);
}

/* One run was four times too good: nothing rests for that. */
static void one_fast_run_rests_none(void **state)
{
    (void)state;
    const double rate[N] = {100, 100, 100, 100, 400, 100, 100, 100, 100, 100, 100, 100, 100, 100};
    struct dlb_race race;
    run_first_block(&race, rate);
    assert_int_equal(dlb_race_block_runs(&race), N);
    dlb_race_free(&race);
}

/* A block of two cells would tell nothing of the noise: beside them and the one that confirms the
 * rest, the fastest that were screened run. */
static void six_run_on(void **state)
{
    (void)state;
    const double rate[N] = {0, 0, 0, 0, 0, 100, 90, 1, 2, 3, 4, 5, 6, 7};
    struct dlb_race_input input = input_of(7);
    struct dlb_race race;
    dlb_race_init(&race, &input);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    for (uint32_t c = 0; c < N; c++)
        dlb_race_record(&race, 0, c, rate[c]);
    for (uint32_t c = 0; c < 5; c++)
        dlb_race_fail(&race, c);
    assert_true(dlb_race_next(&race, DLB_RACE_UNLIMITED));
    for (uint32_t c = 0; c < N; c++)
        assert_int_equal(race.cells[c].runs, c == 5 || c == 6 || c >= 10);
    dlb_race_free(&race);
}

/* Each value that is far behind is confirmed: two of 14 cells are left, and six run beside them. */
static void each_value_runs_once_more(void **state)
{
    (void)state;
    const double rate[N] = {1, 2, 3, 4, 5, 6, 100, 8, 9, 10, 11, 12, 13, 90};
    struct dlb_race race;
    run_first_block(&race, rate);
    for (uint32_t c = 0; c < N; c++)
        assert_int_equal(race.cells[c].runs, c >= 6);
    dlb_race_free(&race);
}

/* With a noise of 70% good cells are screened by chance. Most of them run again; nothing is
 * decided. */
static void what_was_only_unlucky_runs_again(void **state)
{
    (void)state;
    uint32_t n_screened = 0, n_again = 0;
    double rate[N];
    for (uint32_t c = 0; c < N; c++)
        rate[c] = 100;
    for (uint32_t seed = 0; seed < 100; seed++) {
        struct dlb_race_input input = input_of(seed);
        struct dlb_rng rng = dlb_rng_seed(seed, 2, 3);
        struct dlb_race race;
        bool screened[N] = {false};
        uint32_t ran[N] = {0};
        double left = 160;
        dlb_race_init(&race, &input);
        while (dlb_race_next(&race, DLB_RACE_RUNS(left))) {
            left -= dlb_race_block_runs(&race);
            run_block(&race, rate, 0.7, &rng);
            for (uint32_t c = 0; c < N && race.n_blocks == 2; c++) {
                screened[c] = race.cells[c].state == DLB_RACE_SCREENED;
                ran[c] = n_runs_of(&race, c);
            }
        }
        for (uint32_t c = 0; c < N; c++) {
            n_screened += screened[c];
            n_again += screened[c] && n_runs_of(&race, c) > ran[c];
        }
        assert_int_not_equal(race.stopped, DLB_RACE_DECIDED);
        dlb_race_free(&race);
    }
    assert_true(n_screened > 50);
    assert_true(n_again >= 0.8 * n_screened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_way_runs_once),
        cmocka_unit_test(one_slow_run_rests_nowhere),
        cmocka_unit_test(a_value_that_was_hit_runs_on),
        cmocka_unit_test(a_later_look_is_not_lost),
        cmocka_unit_test(a_confirmation_that_failed_is_made_up_for),
        cmocka_unit_test(a_failed_cell_still_shows_its_value_slow),
        cmocka_unit_test(one_fast_run_rests_none),
        cmocka_unit_test(six_run_on),
        cmocka_unit_test(each_value_runs_once_more),
        cmocka_unit_test(what_was_only_unlucky_runs_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
