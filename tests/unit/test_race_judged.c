/* Races on grids that are made up, judged: what a sweep recommends, offers to paste, and says of
 * each cell, beside the planted truth.
 *
 * usage: unit_test_race_judged [GRIDS]   prints the rows of docs/measurement.md. As a test it
 * counts few grids, and allows 3 standard deviations of a count at its limit. */
#include "scenarios/judge/raced.h"

#include "tests/support/judged_grids.h"

#define FIRST_SEED 1000000
#define RUNS 216 /* 12 blocks of all cells */
#define RUNS_FEW 72

static uint32_t n_grids = 6;

static const struct truth {
    const char *name;
    enum grid_shape shape;
    double loss;
    bool shows; /* the best cell, through much noise */
} truths[] = {
    {"equal", GRID_EQUAL, 0, false},
    {"ten lose 3%", GRID_TEN_LOSE, 0.03, false},
    {"ten lose 20%", GRID_TEN_LOSE, 0.2, false},
    {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, false},
    {"one is best by 20%", GRID_ALL_BUT_ONE, 0.2, true},
    {"one is best by 50%", GRID_ALL_BUT_ONE, 0.5, true},
    {"saturates", GRID_SATURATES, 0, false},
};

static const double scatters[] = {0.01, 0.03, 0.1, 0.2, 0.4};
static const double gains[] = {1.02, 1.1, 1.3}; /* of the best cells, by seed */

enum { N_TRUTHS = sizeof(truths) / sizeof(*truths), N_SCATTERS = 5 };

static void at_most(const char *row, const char *what, uint32_t count, uint32_t n, double limit)
{
    if (count > n * limit + 3 * sqrt(n * limit * (1 - limit)))
        fail_msg("%s: %s %u of %u, limit %g", row, what, count, n, limit);
}

/* The judge says what the race has found, and the settings are those of that cell. */
static void agrees(const struct judged *t)
{
    const struct dlb_race *race = &t->plan.race->race;
    const struct dlb_judgement *j = &t->j;
    static const uint32_t workers[] = {1, 2, 3, 4, 6, 8};
    bool decided = race->stopped == DLB_RACE_DECIDED;
    json_t *detail = dlb_raced_detail_json(&t->plan, j);
    assert_string_equal(dlb_json_text(detail, "stopped"), decided ? "decided"
                                                          : race->stopped == DLB_RACE_NOISE
                                                              ? "noise"
                                                              : "budget");
    json_decref(detail);
    assert_int_equal(j->recommended, decided ? race->recommended : -1);
    assert_int_equal(j->separable, decided);
    assert_true(j->noise_floor_frac == race->noise_floor_frac);
    assert_true(!j->too_busy || !decided);
    assert_int_equal(j->n_set == 0, decided || j->too_busy);
    assert_int_equal(j->pytorch[0] == '\0', j->too_busy);
    for (uint32_t i = 1; i < j->n_set; i++)
        assert_true(race->cells[j->set[i]].probability <= race->cells[j->set[i - 1]].probability);
    if (!j->too_busy) {
        char wanted[40];
        int64_t shown = decided ? j->recommended : j->best;
        (void)snprintf(wanted, sizeof(wanted), "num_workers=%u,", workers[shown / 3]);
        assert_non_null(strstr(j->pytorch, wanted));
    }
}

static struct judged_tally count(const struct truth *truth, double scatter, double runs)
{
    struct judged_tally tally = {0};
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + n_grids; seed++) {
        struct judged_case of = {.grid = {.name = truth->name,
                                          .shape = truth->shape,
                                          .loss = truth->loss,
                                          .scatter = scatter},
                                 .gain = gains[seed % 3]};
        struct judged t;
        struct grid g;
        grid_judge(&of, seed, runs, &t, &g);
        agrees(&t);
        grid_count(&t, &g, &tally);
        grid_count_classes(&t, &g, of.gain, &tally);
        close_judged(&t);
    }
    return tally;
}

static void add_to(struct judged_tally *sum, const struct judged_tally *t)
{
    uint32_t *to = (uint32_t *)sum;
    const uint32_t *from = (const uint32_t *)t;
    for (size_t i = 0; i < sizeof(*t) / sizeof(*to); i++)
        to[i] += from[i];
}

/* Noise of 1 and 3% is no reason to recommend nothing; noise of 20 and 40% is, unless one cell is
 * far better than all others. */
static void check_row(const char *row, const struct truth *truth, double scatter,
                      const struct judged_tally *t)
{
    if (scatter < 0.05)
        at_most(row, "too busy", t->too_busy, t->n, 0);
    if (scatter > 0.15 && !truth->shows)
        at_most(row, "offered, not decided", t->offered, t->n, 0.05);
    at_most(row, "loses more than the floor", t->beyond_floor, t->offered, 0.05);
    at_most(row, "wrong", t->wrong, t->n, 0.05);
    at_most(row, "class", t->wrong_class, t->cells, 0.05);
}

static void rows(double runs, uint32_t n_truths, const uint32_t *which)
{
    struct judged_tally all = {0};
    for (uint32_t i = 0; i < n_truths; i++)
        for (int k = 0; k < N_SCATTERS; k++) {
            const struct truth *truth = &truths[which[i]];
            struct judged_tally t = count(truth, scatters[k], runs);
            char row[60];
            (void)snprintf(row, sizeof(row), "%s | %.0f%% | %.0f", truth->name, 100 * scatters[k],
                           runs);
            printf("| %s | %.0f | %.0f | %.0f | %u of %u | %u of %u | %u of %u | %u |\n", row,
                   100.0 * t.decided / t.n, 100.0 * t.too_busy / t.n, 100.0 * t.offered / t.n,
                   t.wrong, t.decided, t.beyond_floor, t.offered, t.wrong_class, t.cells,
                   t.contradicted);
            check_row(row, truth, scatters[k], &t);
            add_to(&all, &t);
        }
    at_most("all", "wrong", all.wrong, all.decided, 0.02);
    at_most("all", "contradicted", all.contradicted, all.n, 0.005);
}

static void test_twelve_blocks(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread, no shared memory; and it takes ten times as long */
#endif
    rows(RUNS, N_TRUTHS, (const uint32_t[]){0, 1, 2, 3, 4, 5, 6});
}

/* A budget that is spent after four blocks. One cell that is best by half can then be certain, and
 * only the time for the last phase is missing. */
static void test_four_blocks(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    rows(RUNS_FEW, 4, (const uint32_t[]){0, 1, 2, 6});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twelve_blocks),
        cmocka_unit_test(test_four_blocks),
    };
    n_grids = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : n_grids;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
