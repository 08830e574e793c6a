/* Operating characteristics of the race, on grids that are made up (tests/support/race_grids.h).
 *
 * With few grids of each case a limit is asserted with what chance allows: 3 standard deviations of
 * a binomial count at the limit. tests/perf/bench_race.c counts many grids. */
#include "tests/support/race_grids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N_GRIDS 24

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
    for (uint32_t seed = GRID_SEED; seed < GRID_SEED + N_GRIDS; seed++) {
        struct grid g;
        grid_init(&g, of, seed);
        grid_race(&g, seed, t);
    }
}

static void characteristics(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread, no shared memory; and it takes ten times as long */
#endif
    static const struct grid_case cases[] = {GRID_CASES};
    struct grid_tally all = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct grid_case *of = &cases[i];
        struct grid_tally t = {0};
        count(of, &t);
        at_most(of, "undecided", t.n - t.decided, t.n, 1 - of->decided);
        at_most(of, "wrong", t.wrong, t.decided, 0.05);
        at_most(of, "rival not covered", t.decided - t.covered_rival, t.decided, 0.08);
        at_most(of, "best not covered", t.decided - t.covered_best, t.decided, 0.08);
        assert_true(t.n_runs <= t.n * GRID_RUNS);
        all.decided += t.decided;
        all.wrong += t.wrong;
        all.covered_best += t.covered_best;
    }
    /* over all cases chance allows little */
    at_most(&cases[0], "wrong of all", all.wrong, all.decided, 0.02);
    at_most(&cases[0], "not covered of all", all.decided - all.covered_best, all.decided, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(characteristics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
