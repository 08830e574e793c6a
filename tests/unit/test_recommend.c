/* judge(): from planted repetitions to values, verdicts, best and recommended. */
#include "scenarios/judge/judge.h"
#include "scenarios/scenario.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/judged.h"

static const char *const workers[] = {"sweep.loader.num_workers=[1, 2, 4]",
                                      "run.epochs=3",
                                      "loader.batch_size=256",
                                      "loader.pin_memory=true",
                                      "loader.shuffle=true",
                                      "loader.drop_last=true",
                                      "device.step_ms=100",
                                      NULL};

static void test_smallest_within_two_percent(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){500, 510, 505}, 3, 1000);
    add(&t, 1, (const double[]){991, 1001, 995}, 3, 1000);
    add(&t, 2, (const double[]){1000, 1010, 1003}, 3, 1000);
    judge(&t);
    assert_int_equal(t.j.best, 2);
    assert_int_equal(t.j.recommended, 1);
    assert_true(t.j.separable);
    assert_int_equal(t.j.n_set, 0);
    assert_string_equal(
        t.j.pytorch, "DataLoader(dataset, batch_size=256, num_workers=2, pin_memory=True, "
                     "prefetch_factor=2, persistent_workers=True, shuffle=True, drop_last=True)");
    close_judged(&t);
}

/* What counts is the loss within a block: a machine that slows down for all is no loss. */
static void test_pairs_by_block(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){995, 497, 746}, 3, 1000);
    add(&t, 1, (const double[]){10, 10, 10}, 3, 1000);
    add(&t, 2, (const double[]){1000, 500, 750}, 3, 1000);
    judge(&t);
    assert_int_equal(t.j.best, 2);
    assert_int_equal(t.j.recommended, 0);
    close_judged(&t);
}

static void test_not_separable(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){500, 500, 500}, 3, 1000);
    add(&t, 1, (const double[]){1040, 900, 980}, 3, 1000);
    add(&t, 2, (const double[]){1000, 1010, 990}, 3, 1000);
    judge(&t);
    assert_int_equal(t.j.best, 2);
    assert_int_equal(t.j.recommended, -1);
    assert_false(t.j.separable);
    assert_int_equal(t.j.n_set, 2);
    assert_int_equal(t.j.set[0], 2); /* the more probable one */
    assert_int_equal(t.j.set[1], 1);
    assert_non_null(strstr(t.j.pytorch, "num_workers=4")); /* the best, where none is recommended */
    close_judged(&t);
}

/* Larger cells do not keep a smaller one that is as good from being recommended. */
static void test_larger_cells_do_not_matter(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *const[]){"sweep.loader.num_workers=[1, 2, 4, 8]",
                                          "device.step_ms=100", NULL});
    add(&t, 0, (const double[]){1040, 900, 980}, 3, 1000);
    add(&t, 1, (const double[]){1000, 1010, 990}, 3, 1000);
    add(&t, 2, (const double[]){999, 1009, 989}, 3, 1000); /* as good, and larger */
    add(&t, 3, (const double[]){500, 505, 495}, 3, 1000);  /* else all were noise */
    judge(&t);
    assert_false(t.j.too_busy);
    assert_int_equal(t.j.best, 1);
    assert_int_equal(t.j.recommended, -1);
    assert_false(t.j.separable);
    assert_int_equal(t.j.n_set, 3);
    close_judged(&t);
    open_judged(&t, workers);
    add(&t, 0, (const double[]){500, 500, 500}, 3, 1000);
    add(&t, 1, (const double[]){1000, 1010, 990}, 3, 1000);
    add(&t, 2, (const double[]){1001, 1011, 989}, 3, 1000); /* as good, and larger */
    judge(&t);
    assert_int_equal(t.j.recommended, 1);
    assert_true(t.j.probability >= DLB_RACE_DECIDE);
    assert_true(t.j.loss_frac.low == 0 && t.j.loss_frac.high < 0.02);
    assert_int_equal(t.j.n_set, 0);
    close_judged(&t);
}

static void test_one_repetition_separates_nothing(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    for (uint32_t i = 0; i < 3; i++)
        add(&t, i, (const double[]){100.0 * (i + 1)}, 1, 1000);
    judge(&t);
    assert_int_equal(t.j.best, 2);
    assert_int_equal(t.j.recommended, -1);
    assert_false(t.j.separable);
    assert_int_equal(t.j.cells[0].rate.interval, DLB_INTERVAL_NONE);
    close_judged(&t);
}

static void test_fewer_bytes_break_ties(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {"sweep.loader.prefetch_factor=[4, 2]", "loader.num_workers=2",
                                    NULL};
    open_judged(&t, settings);
    add(&t, 0, (const double[]){1000, 1000, 1001}, 3, 8000);
    add(&t, 1, (const double[]){1000, 999, 1000}, 3, 4000);
    judge(&t);
    assert_int_equal(t.j.recommended, 1);
    close_judged(&t);
}

static void test_failed_cells_do_not_win(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){100, 100, 100}, 3, 1000);
    add(&t, 1, (const double[]){200, 200, 200}, 3, 1000);
    add(&t, 2, (const double[]){900, 900}, 2, 1000);
    put(&t.results.cells[2], lost(2));
    judge(&t);
    assert_int_equal(t.j.cells[2].status, DLB_CELL_FAILED);
    assert_int_equal(t.j.cells[2].error, DLB_E_WORKER);
    assert_int_equal(t.j.cells[2].code, DLB_ERR_CELL_KILLED);
    assert_non_null(strstr(t.j.cells[2].reason, "SIGKILL"));
    assert_int_equal(t.j.cells[2].verdict.klass, DLB_V_INCOMPLETE);
    assert_int_equal(t.j.best, 1);
    close_judged(&t);
}

static void test_nothing_measured(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    t.results.interrupted = true;
    judge(&t);
    assert_int_equal(t.j.best, -1);
    assert_int_equal(t.j.recommended, -1);
    assert_string_equal(t.j.pytorch, "");
    assert_int_equal(t.j.cells[0].status, DLB_CELL_SKIPPED);
    assert_int_equal(t.j.cells[0].code, DLB_N_CODES);
    assert_non_null(strstr(t.j.cells[0].reason, "interrupted"));
    close_judged(&t);
}

/* An interrupted repetition counts only where there is no whole one. */
static void test_interrupted_repetition(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){100}, 1, 1000);
    for (uint32_t i = 0; i < 2; i++) {
        struct dlb_cell_result cut = rep(70, 0.5, 1, 1000);
        cut.status = DLB_REP_CANCELLED;
        put(&t.results.cells[i], cut);
    }
    t.results.interrupted = true;
    judge(&t);
    assert_int_equal(t.j.cells[0].n_values, 1);
    assert_true(t.j.cells[0].rate.median == 100);
    assert_int_equal(t.j.cells[1].n_values, 1);
    assert_true(t.j.cells[1].rate.median == 70);
    close_judged(&t);
}

/* A process that ended well after too few batches has measured nothing. */
static void test_no_window_is_a_failure(void **state)
{
    (void)state;
    struct judged t;
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        open_judged(&t, workers);
        for (uint32_t i = 0; i < 3; i++) {
            add(&t, i, (const double[]){0}, 1, 1000);
            rep_of(&t, i, 0)->loop.total.window_ns = 0;
            rep_of(&t, i, 0)->loop.n_batches = 3;
        }
        t.results.interrupted = interrupted;
        judge(&t);
        assert_int_equal(t.j.cells[0].status, interrupted ? DLB_CELL_SKIPPED : DLB_CELL_FAILED);
        if (!interrupted) {
            assert_int_equal(t.j.cells[0].error, DLB_E_CONFIG);
            assert_int_equal(t.j.cells[0].code, DLB_ERR_TOO_FEW_BATCHES);
            assert_non_null(strstr(t.j.cells[0].reason, "3 batches"));
            assert_non_null(strstr(t.j.cells[0].reason, "2 are"));
        }
        assert_int_equal(t.j.best, -1);
        close_judged(&t);
    }
}

static void test_fewer_batches_than_asked_are_noted(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {"sweep.loader.num_workers=[1, 2]", "run.max_batches=50",
                                    "device.step_ms=100", NULL};
    open_judged(&t, settings);
    add(&t, 0, (const double[]){500}, 1, 1000); /* 50 steps */
    add(&t, 1, (const double[]){400}, 1, 1000);
    judge(&t);
    assert_int_equal(json_array_size(t.j.notes), 1);
    assert_noted(t.j.notes, "TOO_SHORT", "cell 1 measured 40");
    assert_noted(t.j.notes, "TOO_SHORT", "run.max_batches = 50");
    close_judged(&t);
}

/* Of what was not measured nothing is said, but that it was not. */
static void test_unmeasured_cells_are_no_rivals(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {"sweep.loader.num_workers=[1, 2, 4]", NULL};
    open_judged(&t, settings);
    add(&t, 2, (const double[]){500, 510}, 2, 1000);
    t.results.interrupted = true;
    judge(&t);
    assert_int_equal(t.j.recommended, 2);
    assert_non_null(strstr(t.j.text, " 2 smaller"));
    close_judged(&t);

    /* What has no meaning is not missed. */
    const char *const with_none[] = {"sweep.loader.num_workers=[0, 2]",
                                     "sweep.loader.prefetch_factor=[2, 4]", NULL};
    open_judged(&t, with_none);
    assert_true(t.plan.n_cells == 4 && t.plan.cells[1].skipped);
    for (uint32_t i = 0; i < t.plan.n_cells; i++)
        if (!t.plan.cells[i].skipped)
            add(&t, i, (const double[]){100 * (i + 1), 100 * (i + 1), 100 * (i + 1)}, 3, 1000);
    judge(&t);
    assert_int_equal(t.j.recommended, 3);
    assert_null(strstr(t.j.text, "not measured"));
    close_judged(&t);

    open_judged(&t, settings);
    add(&t, 2, (const double[]){500}, 1, 1000);
    add(&t, 0, (const double[]){250}, 1, 1000);
    judge(&t);
    assert_int_equal(t.j.recommended, -1);
    assert_false(t.j.separable);
    assert_int_equal(t.j.n_set, 2);
    assert_int_equal(t.j.set[0], 0);
    close_judged(&t);
}

/* 8 workers make 2 batches each before anybody takes one; 2 of these are warm-up. */
static void test_a_window_of_what_was_made_ahead(void **state)
{
    static const double rates[] = {140, 150}; /* a tenth of it in batches */
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct judged t;
        const char *const settings[] = {"loader.num_workers=8", "loader.prefetch_factor=2",
                                        "sweep.run.seed=[0]", NULL};
        open_judged(&t, settings);
        add(&t, 0, &rates[i], 1, 1000);
        judge(&t);
        assert_int_equal(t.j.cells[0].evidence.complete, i == 1);
        assert_int_equal(t.j.cells[0].verdict.klass == DLB_V_INCOMPLETE, i == 0);
        close_judged(&t);
    }
}

/* One repetition that the machine disturbed says nothing about the others. */
static void test_harness_is_judged_by_the_median(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    for (uint32_t i = 0; i < 2; i++) {
        add(&t, i, (const double[]){100, 100, 100}, 3, 1000);
        for (uint32_t k = 0; k <= i; k++)
            rep_of(&t, i, k)->loop.total.unaccounted_ns = 30000000;
    }
    judge(&t);
    assert_int_equal(t.j.cells[0].verdict.klass, DLB_V_INPUT_BOUND);
    assert_true(t.j.cells[0].evidence.unaccounted_max_frac == 0.03);
    assert_int_equal(t.j.cells[1].verdict.klass, DLB_V_HARNESS_BOUND);
    close_judged(&t);
}

/* Waiting for an epoch's first batch is input, however long the border takes. */
static void test_epoch_borders_leave_the_input_wait_out(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){100}, 1, 1000);
    struct dlb_share *total = &rep_of(&t, 0, 0)->loop.total;
    total->idle_input_ns = 300000000;
    total->idle_other_ns = 200000000;
    total->epoch_idle_ns = 310000000;
    total->epoch_other_ns = 10000000;
    judge(&t);
    assert_true(fabs(t.j.cells[0].evidence.epoch_frac - 0.01) < 1e-12);
    assert_true(fabs(t.j.cells[0].evidence.start_frac - 0.3) < 1e-12);
    close_judged(&t);
}

/* Words claim no more than was measured. */
static void test_words_of_the_recommendation(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add(&t, 0, (const double[]){500, 510, 505}, 3, 1000);
    add(&t, 1, (const double[]){996, 1006, 1001}, 3, 1000);
    add(&t, 2, (const double[]){1000, 1010, 1005}, 3, 1000);
    judge(&t);
    assert_int_equal(t.j.cells[t.j.best].rate.interval, DLB_INTERVAL_MIN_MAX);
    assert_non_null(strstr(t.j.text, "1,000 to 1,010"));
    assert_non_null(strstr(t.j.text, "3 repetitions"));
    assert_non_null(strstr(t.j.text, "2%"));
    assert_null(strstr(t.j.text, "95%"));
    close_judged(&t);
    open_judged(&t, workers);
    add(&t, 0, (const double[]){1000, 1010, 1003}, 3, 1000);
    add(&t, 1, (const double[]){500, 510, 505}, 3, 1000);
    add(&t, 2, (const double[]){500, 510, 505}, 3, 1000);
    judge(&t);
    assert_int_equal(t.j.best, 0);
    assert_int_equal(t.j.recommended, 0);
    close_judged(&t);
}

/* Two values of an option, as a sweep lists them; false: it has none that are known to be valid. */
static bool two_values(const struct dlb_opt *opt, char *text, size_t n_text)
{
    switch (opt->type) {
    case DLB_OPT_BOOL:
        (void)snprintf(text, n_text, "[false, true]");
        return true;
    case DLB_OPT_INT:
    case DLB_OPT_BYTES:
        (void)snprintf(text, n_text, "[%lld, %lld]", (long long)opt->min + 1,
                       (long long)opt->min + 2);
        return true;
    case DLB_OPT_CHOICE:
        (void)snprintf(text, n_text, "[\"%s\", \"%s\"]", opt->choices[0], opt->choices[1]);
        return true;
    default:
        return false;
    }
}

/* The second value is faster by a hair and takes more memory. The first is recommended if it does
 * the same work, else it is no rival. */
static void sweep_own_option(const char *format, const struct dlb_opt_group *group,
                             const struct dlb_opt *opt)
{
    char dataset[64], axis[160], values[64], key[64], other[80];
    const char *const settings[] = {dataset, axis, "run.epochs=3", NULL};
    bool same = opt->work == DLB_WORK_SAME;
    struct judged t;

    if (!two_values(opt, values, sizeof values))
        return;
    (void)snprintf(dataset, sizeof dataset, "dataset.format=%s", format);
    (void)snprintf(key, sizeof key, "%s.%s", group->section, opt->key);
    (void)snprintf(axis, sizeof axis, "sweep.%s=%s", key, values);
    open_judged(&t, settings);
    assert_int_equal(t.plan.n_cells, 2);
    add(&t, 0, (const double[]){1000, 1000, 1000}, 3, 1000);
    add(&t, 1, (const double[]){1001, 1001, 1001}, 3, 2000);
    judge(&t);
    assert_int_equal(t.j.best, 1);
    (void)snprintf(other, sizeof other, "another %s", key);
    if (t.j.recommended != (same ? 0 : 1) || !strstr(t.j.text, other) != same)
        fail_msg("%s: recommended %lld: %s", key, (long long)t.j.recommended, t.j.text);
    close_judged(&t);
}

/* What a format's own option says of the work that cells do holds for the recommendation. Formats
 * that are added take part by themselves. */
static void test_own_options_of_formats(void **state)
{
    (void)state;
    for (size_t i = 0; dlb_formats[i]; i++) {
        const struct dlb_opt_group *group = dlb_formats[i]->opts;
        for (const struct dlb_opt *opt = group ? group->opts : NULL; opt && opt->key; opt++)
            sweep_own_option(dlb_formats[i]->name, group, opt);
    }
}

static void test_ceiling_is_paired(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    for (uint32_t i = 0; i < 3; i++)
        add(&t, i, (const double[]){1000, 500, 800}, 3, 1000);
    for (uint32_t block = 0; block < 3; block++)
        put(&t.results.ceilings[0],
            rep((const double[]){2000, 1000, 1600}[block], 1, block, 0)); /* steps: a tenth */
    judge(&t);
    assert_int_equal(t.j.cells[0].evidence.gain.n, 3);
    assert_true(fabs(t.j.cells[0].evidence.gain.median - 2) < 1e-9);
    assert_true(fabs(t.j.cells[0].evidence.gain.low - 2) < 1e-9);
    assert_int_equal(t.j.cells[0].verdict.klass, DLB_V_INPUT_BOUND);
    close_judged(&t);
}

static void test_drift_is_noted(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    const double rates[] = {1000, 1000, 900, 880};
    for (uint32_t i = 0; i < 4; i++)
        put(&t.results.reference, rep(rates[i], 0.5, i, 0));
    judge(&t);
    assert_true(fabs(t.j.drift_frac + 0.11) < 1e-9);
    assert_int_equal(json_array_size(t.j.notes), 1);
    assert_noted(t.j.notes, "MACHINE_DRIFTED", "11% slower");
    close_judged(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest_within_two_percent),
        cmocka_unit_test(test_pairs_by_block),
        cmocka_unit_test(test_not_separable),
        cmocka_unit_test(test_larger_cells_do_not_matter),
        cmocka_unit_test(test_one_repetition_separates_nothing),
        cmocka_unit_test(test_fewer_bytes_break_ties),
        cmocka_unit_test(test_failed_cells_do_not_win),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_interrupted_repetition),
        cmocka_unit_test(test_no_window_is_a_failure),
        cmocka_unit_test(test_fewer_batches_than_asked_are_noted),
        cmocka_unit_test(test_unmeasured_cells_are_no_rivals),
        cmocka_unit_test(test_a_window_of_what_was_made_ahead),
        cmocka_unit_test(test_harness_is_judged_by_the_median),
        cmocka_unit_test(test_epoch_borders_leave_the_input_wait_out),
        cmocka_unit_test(test_words_of_the_recommendation),
        cmocka_unit_test(test_own_options_of_formats),
        cmocka_unit_test(test_ceiling_is_paired),
        cmocka_unit_test(test_drift_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
