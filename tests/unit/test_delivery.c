/* judge(): what was delivered, against what was expected. */
#include "tests/support/judged.h"

static const char *const workers[] = {"sweep.loader.num_workers=[1, 2, 4]",
                                      "run.epochs=3",
                                      "loader.batch_size=256",
                                      "loader.pin_memory=true",
                                      "loader.shuffle=true",
                                      "loader.drop_last=true",
                                      NULL};

static json_t *epochs(int samples, int expected, const char *sum, bool whole)
{
    return json_pack("[{si, si, ss, sb}]", "samples", samples, "expected", expected, "set_checksum",
                     sum, "whole", whole);
}

static void test_wrong_delivery_fails_the_cell(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    for (uint32_t i = 0; i < 3; i++)
        add(&t, i, (const double[]){100, 100}, 2, 1000);
    json_t *doc = json_array_get(t.results.cells[0], 1);
    json_object_set_new(doc, "epochs", epochs(99, 100, "a", true));
    for (size_t k = 0; k < 2; k++) {
        doc = json_array_get(t.results.cells[1], k);
        json_object_set_new(doc, "epochs", epochs(100, 100, k ? "b" : "a", true));
        doc = json_array_get(t.results.cells[2], k);
        json_object_set_new(doc, "epochs", epochs(50, 100, k ? "b" : "a", false));
    }
    judge(&t);
    assert_int_equal(t.j.cells[0].status, DLB_CELL_FAILED);
    assert_non_null(strstr(t.j.cells[0].reason, "99 samples instead of 100"));
    assert_int_equal(t.j.cells[1].status, DLB_CELL_FAILED);
    assert_non_null(strstr(t.j.cells[1].reason, "different content"));
    assert_int_equal(t.j.cells[2].status, DLB_CELL_OK); /* cut short: says nothing */
    close_judged(&t);
}

/* What is skipped is counted, and does not hide what is lost beside it. */
static void test_skipping_excuses_what_was_skipped(void **state)
{
    (void)state;
    static const struct {
        int samples, skipped, n_cut;
        bool iterable, drop_last, ok;
    } rows[] = {
        {97, 3, 0, false, false, true},  {96, 3, 0, false, false, false},
        {98, 3, 0, false, false, false}, {97, 3, 0, true, false, true},
        {96, 3, 0, true, false, false},  {60, 3, 1, true, false, true},
        {99, 3, 1, true, false, false},  {90, 3, 0, true, true, true}, /* a batch is dropped */
        {100, 3, 0, true, true, true},   {80, 1, 0, true, true, false},
        {90, 3, 0, false, true, false},
    };
    const char *settings[] = {"sweep.loader.num_workers=[0, 1]", "loader.batch_size=10",
                              "dataset.on_error=skip", "loader.drop_last=false", NULL};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged t;
        settings[3] = rows[i].drop_last ? "loader.drop_last=true" : "loader.drop_last=false";
        open_judged(&t, settings);
        t.plan.cells[0].iterable = rows[i].iterable;
        add(&t, 0, (const double[]){100}, 1, 1000);
        json_t *doc = json_array_get(t.results.cells[0], 0);
        json_t *list = epochs(rows[i].samples, 100, "a", true);
        json_object_set_new(json_array_get(list, 0), "skipped", json_integer(rows[i].skipped));
        json_object_set_new(doc, "epochs", list);
        json_object_set_new(doc, "n_skipped", json_integer(rows[i].skipped));
        json_object_set_new(doc, "n_cut_shards", json_integer(rows[i].n_cut));
        judge(&t);
        if ((t.j.cells[0].status == DLB_CELL_OK) != rows[i].ok)
            fail_msg("row %zu: %s", i, t.j.cells[0].reason);
        if (!rows[i].ok)
            assert_non_null(strstr(t.j.cells[0].reason, " and skipped "));
        close_judged(&t);
    }
}

/* Raising run.epochs would help nobody here. */
static void test_no_full_batch_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *world, *words;
    } rows[] = {
        {"run.world=1", "320 samples make no full batch of 1000: lower loader.batch_size or set "
                        "loader.drop_last=false"},
        {"run.world=400", "320 samples, divided by 400 ranks, make no full batch of 1000: lower "
                          "loader.batch_size or run.world or set loader.drop_last=false"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct judged t;
        open_judged(&t,
                    (const char *const[]){"loader.batch_size=1000", "loader.drop_last=true",
                                          rows[i].world, "sweep.loader.num_workers=[0, 1]", NULL});
        t.plan.host.n_samples = 320;
        add(&t, 0, (const double[]){0}, 1, 1000);
        json_t *doc = json_array_get(t.results.cells[0], 0);
        json_object_set_new(doc, "window_ns", json_integer(0));
        json_object_set_new(doc, "epochs", epochs(0, 0, "a", true));
        judge(&t);
        assert_int_equal(t.j.cells[0].status, DLB_CELL_FAILED);
        assert_int_equal(t.j.cells[0].error, DLB_E_CONFIG);
        assert_string_equal(t.j.cells[0].reason, rows[i].words);
        close_judged(&t);
    }
}

/* The right number of samples is not enough: one may stand for another. */
static void test_samples_that_come_twice_fail_the_cell(void **state)
{
    (void)state;
    for (int n_skipped = 0; n_skipped < 2; n_skipped++) {
        struct judged t;
        open_judged(&t, workers);
        add(&t, 0, (const double[]){100}, 1, 1000);
        json_t *doc = json_array_get(t.results.cells[0], 0), *list = epochs(100, 100, "a", true);
        json_object_set_new(json_array_get(list, 0), "unique", json_integer(98));
        json_object_set_new(doc, "epochs", list);
        json_object_set_new(doc, "n_skipped", json_integer(n_skipped));
        json_object_set_new(doc, "n_cut_shards", json_integer(0));
        judge(&t);
        assert_int_equal(t.j.cells[0].status, DLB_CELL_FAILED);
        assert_non_null(strstr(t.j.cells[0].reason, "2 of 100 samples twice"));
        close_judged(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_delivery_fails_the_cell),
        cmocka_unit_test(test_samples_that_come_twice_fail_the_cell),
        cmocka_unit_test(test_skipping_excuses_what_was_skipped),
        cmocka_unit_test(test_no_full_batch_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
