/* judge(): what it says of more workers, given the shards there are and what else was measured. */
#include "tests/support/judged.h"

static const char *said(const struct judged *t, uint32_t cell)
{
    return t->j.cells[cell].verdict.text;
}

static void assert_says(const struct judged *t, uint32_t cell, const char *what)
{
    if (!strstr(said(t, cell), what))
        fail_msg("cell %u: no \"%s\" in: %s", cell, what, said(t, cell));
}

static void assert_silent(const struct judged *t, uint32_t cell, const char *what)
{
    if (strstr(said(t, cell), what))
        fail_msg("cell %u: \"%s\" in: %s", cell, what, said(t, cell));
}

/* One shard: more workers would have as little to do as these. */
static void test_workers_without_a_shard(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *[]){"sweep.loader.num_workers=[4]", "run.warmup_batches=0", NULL});
    add(&t, 0, (const double[]){50, 50}, 2, 1000); /* 5 steps: the one worker makes 2 ahead */
    json_t *doc;
    size_t i;
    json_array_foreach(t.results.cells[0], i, doc)
        json_object_set_new(doc, "n_idle_workers", json_integer(3));
    judge(&t);
    assert_says(&t, 0, "INPUT-BOUND");
    assert_says(&t, 0, "Only 1 of 4 workers had a shard to read. Try: more shards, at least one");
    assert_silent(&t, 0, "more workers");
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
    assert_says(&t, 0, "Try: 2 workers, which were measured and were faster");
    assert_says(&t, 1, "Try: 4 workers, which were measured and were faster");
    assert_says(&t, 2, "More workers (up to 4) were measured and were not clearly faster. Try: la");
    assert_silent(&t, 2, "Try: more workers");
    assert_says(&t, 3, "Try: 4 workers, which were measured and were faster");
    assert_says(&t, 5, "you have 8 CPUs and use 4 workers: extend sweep.loader.num_workers");
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
    assert_says(&t, 0, "More workers (up to 2) were measured and were not clearly faster");
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
    assert_says(&t, 0, "Try: num_workers = 2 for each accelerator, which was measured and was fas");
    assert_silent(&t, 0, "4 workers");
    close_judged(&t);
}

/* Faster is what no repetition leaves in doubt; and one of each leaves everything in it. */
static void test_more_workers_told_apart(void **state)
{
    static const struct {
        double fewer[2], more[2];
        uint32_t n;
        const char *says;
    } cases[] = {
        {{400, 410}, {411, 420}, 2, "Try: 4 workers, which were measured and were faster"},
        {{400, 410}, {409, 420}, 2, "More workers (up to 4) were measured and were not clearly f"},
        {{400, 410}, {300, 310}, 2, "More workers (up to 4) were measured and were not clearly f"},
        {{400}, {800}, 1, "Try: more workers (you have 8 CPUs and use 2 workers); then"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct judged t;
        open_judged(&t, (const char *[]){"sweep.loader.num_workers=[2, 4]", NULL});
        add(&t, 0, cases[i].fewer, cases[i].n, 1000);
        add(&t, 1, cases[i].more, cases[i].n, 1000);
        judge(&t);
        assert_says(&t, 0, cases[i].says);
        close_judged(&t);
    }
}

/* Rates that the recommendation leaves out advise nothing either. */
static void test_more_workers_that_are_not_judged(void **state)
{
    static const char *const classes[] = {"HARNESS-BOUND", "INCOMPLETE"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct judged t;
        json_t *doc;
        size_t k;
        open_judged(&t, (const char *[]){"sweep.loader.num_workers=[2, 4]", NULL});
        add(&t, 0, (const double[]){300, 300}, 2, 1000);
        add(&t, 1, (const double[]){400, 400}, 2, 1000);
        json_array_foreach(t.results.cells[1], k, doc) {
            if (i == 0)
                json_object_set_new(doc, "unaccounted_ns", json_integer(200000000));
            else
                json_object_del(doc, "busy_ns");
        }
        judge(&t);
        assert_says(&t, 1, classes[i]);
        assert_says(&t, 0, "Try: more workers (you have 8 CPUs and use 2 workers); then");
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
    json_object_set_new(json_array_get(t.results.cells[1], 0), "status", json_string("failed"));
    judge(&t);
    assert_says(&t, 0, "Try: more workers (you have 8 CPUs and use 2 workers); then");
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
