/* Keys that are said to make no difference, on sweeps that are made up
 * (tests/support/key_grids.h). tests/perf/bench_race.c counts many. */
#include "tests/support/key_grids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N_GRIDS 12

/* Of the keys that are said to make no difference, at most 5% change the rate by more than the
 * tolerance, and 3 standard deviations of what chance allows. Of those that truly change nothing,
 * the race finds most with noise of 1 and 3%. */
static void characteristics(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread, no shared memory; and it takes ten times as long */
#endif
    static const struct key_case cases[] = {KEY_CASES};
    struct key_tally all = {0}, quiet = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint32_t seed = 0; seed < N_GRIDS; seed++) {
            struct key_grid k;
            key_init(&k, &cases[i], seed);
            key_race(&k, seed, cases[i].scatter < 0.05 ? &quiet : &all);
            key_pairs(&k, &all);
        }
    for (int rule = 0; rule < KEY_N_RULES; rule++) {
        uint32_t n = 0, n_wrong = 0;
        for (int size = 0; size < KEY_N_SIZES; size++) {
            uint32_t said = all.said[rule][size] + quiet.said[rule][size];
            n += said;
            n_wrong += size > KEY_BELOW ? said : 0;
        }
        assert_true(n > 0);
        if (n_wrong > n * 0.05 + 3 * sqrt(n * 0.05 * 0.95))
            fail_msg("rule %d: %u of %u", rule, n_wrong, n);
    }
    assert_true(quiet.n[KEY_RACE][KEY_NONE] > 50);
    assert_true(quiet.said[KEY_RACE][KEY_NONE] > 0.6 * quiet.n[KEY_RACE][KEY_NONE]);
    assert_true(all.said[KEY_PAIRS_6][KEY_NONE] > 0);
}

/* At the cell that is recommended: three values of one key that are equal, two of another that are
 * not, and one that no cell differs in alone. */
static void what_a_race_says(void **state)
{
    (void)state;
    enum { N = 6 };
    static const uint32_t rank[N] = {0, 1, 2, 3, 4, 5};
    static const uint32_t levels[N][3] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 0},
                                          {1, 0, 1}, {1, 1, 0}, {1, 2, 1}};
    const struct dlb_race_input input = {.n_cells = N,
                                         .n_keys = 3,
                                         .rank = rank,
                                         .levels = levels[0],
                                         .tolerance = GRID_TOLERANCE,
                                         .seed = 1};
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_race race;
    dlb_race_init(&race, &input);
    assert_int_equal(race.base, -1);
    while (dlb_race_next(&race, DLB_RACE_UNLIMITED)) {
        uint32_t block = race.n_blocks;
        for (uint32_t c = 0; c < N; c++)
            if (race.cells[c].runs)
                dlb_race_record(&race, block, c,
                                (c < 3 ? 1000 : 900) * exp(0.004 * dlb_rng_normal(&rng)));
    }
    assert_int_equal(race.recommended, 0);
    assert_int_equal(race.base, 0);
    assert_int_equal(race.keys[0].n_others, 0); /* cell 3 differs in the last key, too */
    assert_true(isnan(race.keys[0].same));
    assert_int_equal(race.keys[1].n_others, 2);
    assert_true(race.keys[1].same >= DLB_RACE_SAME);
    assert_int_equal(race.keys[2].n_others, 0);
    dlb_race_free(&race);
}

static void where_nothing_is_recommended(void **state)
{
    (void)state;
    static const uint32_t rank[2] = {0, 1};
    const struct dlb_race_input input = {.n_cells = 2,
                                         .n_keys = 1,
                                         .rank = rank,
                                         .levels = rank,
                                         .tolerance = GRID_TOLERANCE,
                                         .seed = 1};
    struct dlb_race race;
    dlb_race_init(&race, &input);
    for (uint32_t block = 0; dlb_race_next(&race, DLB_RACE_RUNS(8 - 2 * block)); block++)
        for (uint32_t c = 0; c < 2; c++)
            dlb_race_record(&race, block, c, 1000 + 300 * c + 100.0 * (block % 2));
    assert_int_equal(race.recommended, -1);
    assert_int_equal(race.base, 1); /* loses least */
    assert_int_equal(race.keys[0].n_others, 1);
    assert_true(race.keys[0].same < 0.5);
    dlb_race_free(&race);
}

static void pairs(void **state)
{
    (void)state;
    static const double a[] = {1000, 1010, 990, 1005}, b[] = {1001, 1008, 991, 1006},
                        c[] = {1000, 980, 1020, 1005};
    struct dlb_noise quiet = {.sd_frac = 0.001, .floor_frac = 0.002, .n_freedom = 20}, loud = quiet,
                     unknown = {.sd_frac = (double)NAN, .floor_frac = (double)NAN};
    loud.sd_frac = 0.02;
    assert_true(dlb_noise_equal(&quiet, a, b, 4, 0.02));
    assert_false(dlb_noise_equal(&quiet, a, b, 2, 0.02));
    assert_false(dlb_noise_equal(&quiet, a, c, 4, 0.02)); /* these pairs are not alike */
    assert_false(dlb_noise_equal(&loud, a, b, 4, 0.02));  /* alike by chance */
    assert_false(dlb_noise_equal(&unknown, a, b, 4, 0.02));
    assert_false(dlb_noise_equal(&quiet, a, b, 4, 0.0005));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characteristics),
        cmocka_unit_test(what_a_race_says),
        cmocka_unit_test(where_nothing_is_recommended),
        cmocka_unit_test(pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
