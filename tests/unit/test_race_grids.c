/* Operating characteristics of the race, on grids that are made up (tests/support/race_grids.h).
 *
 * usage: unit_test_race_grids [GRIDS]   all cases, each with so many grids; without it every third
 *
 * With few grids of each case a limit is asserted with what chance allows: 3 standard deviations of
 * a binomial count at the limit. tests/perf/bench_race.c counts many grids. */
#include "tests/support/race_grids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t n_grids = 24;
static size_t every = 3; /* of the cases */

static double slack(double n, double limit)
{
    return 3 * sqrt(n * limit * (1 - limit));
}

static void at_most(const struct grid_case *of, const char *what, uint32_t count, uint32_t n,
                    double limit)
{
    if (count > n * limit + slack(n, limit))
        fail_msg("%s, %s, %g: %s %u of %u, limit %g", of->name, grid_noise_name(of->noise),
                 of->scatter, what, count, n, limit);
}

static void count(const struct grid_case *of, struct grid_tally *t)
{
    for (uint32_t seed = GRID_SEED; seed < GRID_SEED + n_grids; seed++) {
        struct grid g;
        grid_init(&g, of, seed);
        grid_race(&g, seed, t);
    }
}

/* Of those decided or, where under 5% are, of all: of few grids one is wrong by chance. */
static void few_wrong(const struct grid_case *of, const struct grid_tally *t)
{
    if (t->decided < 0.05 * t->n)
        at_most(of, "wrong of all", t->wrong, t->n, 0.01);
    else
        at_most(of, "wrong", t->wrong, t->decided, 0.05);
}

/* Those of a grid's cells hang together: they count as one. */
static void losses_covered(const struct grid_case *of, const struct grid_tally *t)
{
    double missed = 1 - (double)t->covered_losses / fmax(t->n_losses, 1);
    at_most(of, "losses not covered", (uint32_t)(missed * t->n), t->n, 0.08);
}

static void characteristics(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread, no shared memory; and it takes ten times as long */
#endif
    static const struct grid_case cases[] = {GRID_CASES};
    struct grid_tally all = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i += every) {
        const struct grid_case *of = &cases[i];
        struct grid_tally t = {0};
        count(of, &t);
        at_most(of, "undecided", t.n - t.decided, t.n, 1 - of->decided);
        few_wrong(of, &t);
        at_most(of, "rival not covered", t.decided - t.covered_rival, t.decided, 0.08);
        at_most(of, "best not covered", t.decided - t.covered_best, t.decided, 0.08);
        losses_covered(of, &t);
        double overrun = of->noise == GRID_STEAL_WITHIN ? GRID_OVERRUN : 0;
        assert_true(of->noise == GRID_STEAL || t.n_runs <= t.n * GRID_RUNS * (1 + overrun));
        all.decided += t.decided;
        all.wrong += t.wrong;
        all.covered_best += t.covered_best;
        all.n_losses += t.n_losses;
        all.covered_losses += t.covered_losses;
    }
    /* over all cases chance allows little */
    at_most(&cases[0], "wrong of all", all.wrong, all.decided, 0.02);
    at_most(&cases[0], "not covered of all", all.decided - all.covered_best, all.decided, 0.05);
    assert_true(all.covered_losses >= 0.92 * all.n_losses);
}

/* The one best cell must not pull the effects of its keys along: the losses of the others were
 * covered in 87% of the cases. */
static void losses_to_a_lone_best(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* as above */
#endif
    static const struct grid_case of = {
        "one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_NORMAL, 0.01, false, 0.95};
    struct grid_tally t = {0};
    for (uint32_t seed = GRID_SEED; seed < GRID_SEED + 50; seed++) {
        struct grid g;
        grid_init(&g, &of, seed);
        grid_race(&g, seed, &t);
    }
    assert_true(t.covered_losses >= 0.92 * t.n_losses);
}

/* All first runs of a value were hit, and there is no race: the other two runs tell. The scatters
 * are far from converged where the estimate begins. */
static void a_stall_in_one_of_three(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* as above */
#endif
    static const struct grid_case of = {
        "one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_STALLED, 0.01, false, 0.95};
    struct grid_tally t = {0};
    for (uint32_t seed = GRID_SEED; seed < GRID_SEED + 50; seed++) {
        struct grid g;
        grid_init(&g, &of, seed);
        grid_alike(&g, 3, seed, &t);
    }
    assert_true(t.decided >= 0.9 * t.n && t.wrong == 0);
    losses_covered(&of, &t);
}

/* Where all cells run alike. */
static void without_a_race(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* as above */
#endif
    static const struct grid_case cases[] = {GRID_CASES};
    static const uint32_t n_blocks[] = {3, 12};
    for (size_t k = 0; k < sizeof(n_blocks) / sizeof(*n_blocks); k++) {
        struct grid_tally all = {0};
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i += every) {
            struct grid_tally t = {0};
            for (uint32_t seed = GRID_SEED; seed < GRID_SEED + n_grids; seed++) {
                struct grid g;
                grid_init(&g, &cases[i], seed);
                grid_alike(&g, n_blocks[k], seed, &t);
            }
            few_wrong(&cases[i], &t);
            losses_covered(&cases[i], &t);
            all.decided += t.decided;
            all.wrong += t.wrong;
            all.n_losses += t.n_losses;
            all.covered_losses += t.covered_losses;
        }
        assert_true(all.decided > 0 && all.wrong <= 0.05 * all.decided);
        assert_true(all.covered_losses >= 0.92 * all.n_losses);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        n_grids = (uint32_t)strtoul(argv[1], NULL, 10);
        every = 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characteristics), cmocka_unit_test(losses_to_a_lone_best),
        cmocka_unit_test(a_stall_in_one_of_three), cmocka_unit_test(without_a_race)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
