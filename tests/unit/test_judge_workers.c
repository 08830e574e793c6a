/* judge(): what it says of more workers, given the shards there are and what else was measured. */
#include "tests/support/judged.h"

/* What the verdict on a cell rests on: the most workers that were measured beside it, how many of
 * them were clearly faster (0: none), and whether a sweep has none with more. */
static void assert_workers(const struct judged *t, uint32_t cell, uint32_t more, uint32_t faster,
                           bool most_swept)
{
    const struct dlb_evidence *e = &t->j.cells[cell].evidence;
    if (e->more_workers != more || e->faster_workers != faster || e->most_swept != most_swept)
        fail_msg("cell %u: more %u, faster %u, most %d", cell, e->more_workers, e->faster_workers,
                 e->most_swept);
}

/* One shard: more workers would have as little to do as these. */
static void test_workers_without_a_shard(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *[]){"sweep.loader.num_workers=[4]", "run.warmup_batches=0", NULL});
    add(&t, 0, (const double[]){50, 50}, 2, 1000); /* 5 steps: the one worker makes 2 ahead */
    for (uint32_t i = 0; i < 2; i++)
        rep_of(&t, 0, i)->workers.n_idle = 3;
    judge(&t);
    assert_verdict(&t, 0, "INPUT_BOUND");
    assert_int_equal(t.j.cells[0].evidence.num_workers, 1);
    assert_int_equal(t.j.cells[0].evidence.n_idle_workers, 3);
    assert_non_null(strstr(t.j.cells[0].verdict.text, "1 of 4"));
    assert_true(t.j.cells[0].n_workers == 4.0); /* its size is what was asked for */
    close_judged(&t);
}

/* Compared with cells that differ in nothing but workers: cells 0 to 5 are 1, 1, 2, 2, 4, 4. */
static void test_more_workers_that_were_measured(void **state)
{
    (void)state;
    static const double rates[] = {100, 500, 300, 400, 200, 600};
    struct judged t;
    open_judged(&t, (const char *[]){"sweep.loader.num_workers=[1, 2, 4]",
                                     "sweep.loader.prefetch_factor=[2, 4]", NULL});
    for (uint32_t i = 0; i < 6; i++)
        add(&t, i, (const double[]){rates[i], rates[i]}, 2, 1000);
    judge(&t);
    assert_workers(&t, 0, 4, 2, false);
    assert_workers(&t, 1, 4, 4, false);
    assert_workers(&t, 2, 4, 0, false);
    assert_workers(&t, 3, 4, 4, false);
    assert_workers(&t, 4, 0, 0, true);
    assert_workers(&t, 5, 0, 0, true);
    assert_non_null(strstr(t.j.cells[5].verdict.text, "sweep.loader.num_workers"));
    close_judged(&t);
}

/* Settings without a meaning for no workers do not keep its cell from being compared. */
static void test_no_workers_that_were_as_fast(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *[]){"sweep.loader.num_workers=[0, 2]",
                                     "sweep.loader.prefetch_factor=[2, 4]", NULL});
    for (uint32_t i = 0; i < 4; i++)
        if (!t.plan.cells[i].skipped)
            add(&t, i, (const double[]){i ? 100 : 200, i ? 100 : 200}, 2, 1000);
    judge(&t);
    assert_workers(&t, 0, 2, 0, false);
    close_judged(&t);
}

/* Named is what is set, not how many there are of all accelerators. */
static void test_workers_of_several_accelerators(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *[]){"accelerators.count=2", "loader.pin_memory=true",
                                     "sweep.loader.num_workers=[1, 2]", NULL});
    add(&t, 0, (const double[]){300, 300}, 2, 1000);
    add(&t, 1, (const double[]){400, 400}, 2, 1000);
    judge(&t);
    assert_workers(&t, 0, 2, 2, false);
    assert_int_equal(t.j.cells[0].evidence.n_loaders, 2);
    assert_non_null(strstr(t.j.cells[0].verdict.text, "num_workers = 2"));
    assert_null(strstr(t.j.cells[0].verdict.text, "4 workers"));
    close_judged(&t);
}

/* Faster is what no repetition leaves in doubt; and one of each leaves everything in it, but for
 * cells that are twice as slow. */
static void test_more_workers_told_apart(void **state)
{
    static const struct {
        double fewer[2], more[2];
        uint32_t n, most, faster;
    } cases[] = {
        {{400, 410}, {411, 420}, 2, 4, 4}, {{400, 410}, {409, 420}, 2, 4, 0},
        {{400, 410}, {300, 310}, 2, 4, 0}, {{400}, {800}, 1, 0, 0},
        {{400}, {201}, 1, 0, 0},           {{400}, {199}, 1, 4, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct judged t;
        open_judged(&t, (const char *[]){"sweep.loader.num_workers=[2, 4]", NULL});
        add(&t, 0, cases[i].fewer, cases[i].n, 1000);
        add(&t, 1, cases[i].more, cases[i].n, 1000);
        judge(&t);
        assert_workers(&t, 0, cases[i].most, cases[i].faster, false);
        close_judged(&t);
    }
}

/* Rates that the recommendation leaves out advise nothing either. */
static void test_more_workers_that_are_not_judged(void **state)
{
    static const char *const codes[] = {"HARNESS_BOUND", "INCOMPLETE"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct judged t;
        open_judged(&t, (const char *[]){"sweep.loader.num_workers=[2, 4]", NULL});
        add(&t, 0, (const double[]){300, 300}, 2, 1000);
        add(&t, 1, (const double[]){400, 400}, 2, 1000);
        for (uint32_t k = 0; k < 2; k++) {
            struct dlb_share *total = &rep_of(&t, 1, k)->loop.total;
            if (i == 0)
                total->unaccounted_ns = 200000000;
            else
                total->busy_ns = DLB_NOT_MEASURED;
        }
        judge(&t);
        assert_verdict(&t, 1, codes[i]);
        assert_workers(&t, 0, 0, 0, false);
        close_judged(&t);
    }
}

/* A cell that failed was not measured, and is no end of the grid either. */
static void test_more_workers_that_failed(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *[]){"sweep.loader.num_workers=[2, 4]", NULL});
    add(&t, 0, (const double[]){400, 400}, 2, 1000);
    add(&t, 1, (const double[]){300, 300}, 2, 1000);
    rep_of(&t, 1, 0)->status = DLB_REP_FAILED;
    judge(&t);
    assert_workers(&t, 0, 0, 0, false);
    close_judged(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_without_a_shard),
        cmocka_unit_test(test_more_workers_that_were_measured),
        cmocka_unit_test(test_no_workers_that_were_as_fast),
        cmocka_unit_test(test_workers_of_several_accelerators),
        cmocka_unit_test(test_more_workers_told_apart),
        cmocka_unit_test(test_more_workers_that_are_not_judged),
        cmocka_unit_test(test_more_workers_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
