/* judge(): what was delivered, against what was expected. */
#include "scenarios/judge/lost.h"
#include "tests/support/judged.h"

static const char *const workers[] = {"sweep.loader.num_workers=[1, 2, 4]",
                                      "run.epochs=3",
                                      "loader.batch_size=256",
                                      "loader.pin_memory=true",
                                      "loader.shuffle=true",
                                      "loader.drop_last=true",
                                      NULL};

static const char *const same_set[] = {"sweep.loader.num_workers=[1, 2, 4]", "loader.shuffle=true",
                                       NULL};

/* Gives a repetition one epoch. */
static struct dlb_epoch *epoch(struct dlb_cell_result *rep, uint64_t n_samples, uint64_t n_expected,
                               uint64_t sum, bool ended)
{
    free(rep->loop.epoch);
    rep->loop.epoch = dlb_mem_new(sizeof(*rep->loop.epoch));
    rep->loop.n_epochs = 1;
    *rep->loop.epoch = (struct dlb_epoch){.n_samples = n_samples,
                                          .n_unique = n_samples,
                                          .n_expected = n_expected,
                                          .set_checksum = sum,
                                          .ended = ended};
    return rep->loop.epoch;
}

static void assert_failed(const struct judged *t, uint32_t cell, enum dlb_code code,
                          const char *figures)
{
    const struct dlb_judged_cell *is = &t->j.cells[cell];
    assert_int_equal(is->status, DLB_CELL_FAILED);
    assert_int_equal(is->error, dlb_code_status(code));
    if (is->code != code || !strstr(is->reason, figures))
        fail_msg("%s: %s", is->code < DLB_N_CODES ? dlb_code_name(is->code) : "no code",
                 is->reason);
}

static void test_wrong_delivery_fails_the_cell(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, same_set);
    for (uint32_t i = 0; i < 3; i++)
        add(&t, i, (const double[]){100, 100}, 2, 1000);
    (void)epoch(rep_of(&t, 0, 1), 99, 100, 0xa, true);
    for (uint32_t k = 0; k < 2; k++) {
        (void)epoch(rep_of(&t, 1, k), 100, 100, k ? 0xb : 0xa, true);
        (void)epoch(rep_of(&t, 2, k), 50, 100, k ? 0xb : 0xa, false);
    }
    judge(&t);
    assert_failed(&t, 0, DLB_ERR_SAMPLES_MISSING, "99 samples");
    assert_failed(&t, 1, DLB_ERR_CONTENT_DIFFERS, "000000000000000a and 000000000000000b");
    assert_int_equal(t.j.cells[2].status, DLB_CELL_OK); /* cut short: says nothing */
    close_judged(&t);
}

/* Each block has a seed of its own. What it decides is compared within a block only. */
static void test_only_what_the_seed_leaves_is_compared(void **state)
{
    (void)state;
    static const struct {
        const char *settings[3];
        bool iterable, same;
    } rows[] = {
        {{"loader.shuffle=true"}, false, true},
        {{"loader.shuffle=true"}, true, true},
        {{"loader.drop_last=true"}, false, true},
        {{"loader.shuffle=true", "loader.drop_last=true"}, false, false},
        {{"loader.shuffle=true", "loader.drop_last=true"}, true, false},
        {{"loader.shuffle=true", "run.world=2"}, false, false},
        {{"loader.shuffle=true", "run.world=2"}, true, true},
        {{"run.world=2"}, false, true},
        {{"run.checksum=true", "dataset.codec=raw"}, false, true},
        {{"run.checksum=true", "dataset.codec=jpeg", "transform.crop=center"}, false, true},
        {{"run.checksum=true", "dataset.codec=jpeg", "transform.crop=random-resized"},
         false,
         false},
        {{"dataset.codec=jpeg", "transform.crop=random-resized"}, false, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (uint32_t same_block = 0; same_block < 2; same_block++) {
            const char *settings[5] = {"sweep.loader.num_workers=[1, 2]"};
            struct judged t;
            memcpy(&settings[1], rows[i].settings, sizeof(rows[i].settings));
            open_judged(&t, settings);
            t.plan.cells[0].iterable = rows[i].iterable;
            add(&t, 0, (const double[]){100, 100}, 2, 1000);
            for (uint32_t k = 0; k < 2; k++)
                (void)epoch(rep_of(&t, 0, k), 100, 100, k ? 0xb : 0xa, true);
            rep_of(&t, 0, 1)->block = same_block ? rep_of(&t, 0, 0)->block : 1;
            judge(&t);
            bool fails = t.j.cells[0].status == DLB_CELL_FAILED &&
                         t.j.cells[0].code == DLB_ERR_CONTENT_DIFFERS;
            if (fails != (rows[i].same || same_block))
                fail_msg("row %zu: %s", i, t.j.cells[0].reason);
            close_judged(&t);
        }
}

/* What is skipped is counted, and does not hide what is lost beside it. */
static void test_skipping_excuses_what_was_skipped(void **state)
{
    (void)state;
    static const struct {
        uint64_t samples, skipped, n_cut;
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
        struct dlb_cell_result *rep = rep_of(&t, 0, 0);
        epoch(rep, rows[i].samples, 100, 0xa, true)->n_skipped = rows[i].skipped;
        rep->workers.n_skipped = rows[i].skipped;
        rep->workers.n_cut_shards = rows[i].n_cut;
        judge(&t);
        if ((t.j.cells[0].status == DLB_CELL_OK) != rows[i].ok)
            fail_msg("row %zu: %s", i, t.j.cells[0].reason);
        if (!rows[i].ok)
            assert_failed(&t, 0, DLB_ERR_SAMPLES_MISSING, "skipped");
        close_judged(&t);
    }
}

/* What a run lost is counted over its epochs, and a shard's rest by what is missing. */
static void test_what_was_lost_is_in_the_verdict(void **state)
{
    (void)state;
    static const struct {
        uint64_t samples, skipped, n_cut;
        enum dlb_severity severity;
        double frac;
        const char *says; /* in the verdict's text and in the note; NULL: no note */
    } rows[] = {
        {42, 58, 0, DLB_SEVERITY_CRITICAL, 0.58, "58 of 100"},
        {99, 1, 0, DLB_SEVERITY_WARN, 0.01, "1 of 100"},
        {60, 3, 1, DLB_SEVERITY_CRITICAL, 0.40, "40 of 100"},
        {100, 0, 0, DLB_SEVERITY_OK, 0, NULL},
        {100, 0, 1, DLB_SEVERITY_WARN, (double)NAN,
         "rest of a shard"}, /* how much, none can tell */
        {97, 3, 1, DLB_SEVERITY_WARN, (double)NAN, "rest of a shard"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged t;
        open_judged(&t, (const char *const[]){"sweep.loader.num_workers=[0, 1]",
                                              "dataset.on_error=skip", NULL});
        t.plan.cells[0].iterable = rows[i].n_cut > 0;
        add(&t, 0, (const double[]){100}, 1, 1000);
        struct dlb_cell_result *rep = rep_of(&t, 0, 0);
        rep->loop.total.busy_ns = rep->loop.total.window_ns;
        rep->loop.total.idle_input_ns = 0;
        epoch(rep, rows[i].samples, 100, 0xa, true)->n_skipped = rows[i].skipped;
        rep->workers.n_skipped = rows[i].skipped;
        rep->workers.n_cut_shards = rows[i].n_cut;
        judge(&t);
        const struct dlb_judged_cell *cell = &t.j.cells[0];
        const struct dlb_lost lost = dlb_cell_result_lost(rep);
        assert_int_equal(cell->status, DLB_CELL_OK);
        assert_int_equal(cell->verdict.severity, rows[i].severity);
        assert_true(isnan(rows[i].frac) ? isnan(dlb_lost_frac(&lost))
                                        : fabs(dlb_lost_frac(&lost) - rows[i].frac) < 1e-9);
        json_t *note = NULL;
        for (size_t k = 0; k < json_array_size(t.j.notes); k++)
            if (strcmp(dlb_json_text(json_array_get(t.j.notes, k), "code"), "SAMPLES_SKIPPED") == 0)
                note = json_array_get(t.j.notes, k);
        assert_int_equal(note != NULL, rows[i].says != NULL);
        if (rows[i].says) {
            assert_non_null(strstr(cell->verdict.text, rows[i].says));
            assert_non_null(strstr(dlb_json_text(note, "text"), rows[i].says));
        }
        close_judged(&t);
    }
}

/* More epochs would deliver as little. */
static void test_nothing_readable_is_about_the_data(void **state)
{
    (void)state;
    for (uint64_t n_samples = 0; n_samples < 2; n_samples++) {
        struct judged t;
        open_judged(&t,
                    (const char *const[]){"sweep.loader.num_workers=[0, 1]",
                                          "dataset.on_error=skip", "dataset.path=/the/data", NULL});
        add(&t, 0, (const double[]){0}, 1, 1000);
        struct dlb_cell_result *rep = rep_of(&t, 0, 0);
        rep->loop.total.window_ns = 0;
        epoch(rep, n_samples, 100, 0xa, true)->n_skipped = 100 - n_samples;
        rep->workers.n_skipped = 100 - n_samples;
        rep->workers.n_cut_shards = 0;
        judge(&t);
        if (n_samples == 0) {
            assert_failed(&t, 0, DLB_ERR_NOTHING_READABLE, "100 of 100");
            assert_failed(&t, 0, DLB_ERR_NOTHING_READABLE, "inspect /the/data");
            assert_null(strstr(t.j.cells[0].reason, "run.epochs"));
        } else {
            assert_failed(&t, 0, DLB_ERR_TOO_FEW_BATCHES, "99 of 100");
        }
        close_judged(&t);
    }
}

/* Raising run.epochs would not help here. */
static void test_no_full_batch_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *world, *ranks;
    } rows[] = {
        {"run.world=1", NULL},
        {"run.world=400", "400 ranks"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct judged t;
        open_judged(&t,
                    (const char *const[]){"loader.batch_size=1000", "loader.drop_last=true",
                                          rows[i].world, "sweep.loader.num_workers=[0, 1]", NULL});
        t.plan.host.n_samples = 320;
        add(&t, 0, (const double[]){0}, 1, 1000);
        rep_of(&t, 0, 0)->loop.total.window_ns = 0;
        (void)epoch(rep_of(&t, 0, 0), 0, 0, 0xa, true);
        judge(&t);
        assert_failed(&t, 0, DLB_ERR_TOO_FEW_BATCHES, "320 samples");
        assert_failed(&t, 0, DLB_ERR_TOO_FEW_BATCHES, "batch of 1000");
        assert_failed(&t, 0, DLB_ERR_TOO_FEW_BATCHES, "loader.drop_last=false");
        assert_int_equal(strstr(t.j.cells[0].reason, "run.world") != NULL, rows[i].ranks != NULL);
        if (rows[i].ranks)
            assert_failed(&t, 0, DLB_ERR_TOO_FEW_BATCHES, rows[i].ranks);
        close_judged(&t);
    }
}

/* The right number of samples is not enough: one may stand for another. */
static void test_samples_that_come_twice_fail_the_cell(void **state)
{
    (void)state;
    for (uint64_t n_skipped = 0; n_skipped < 2; n_skipped++) {
        struct judged t;
        open_judged(&t, workers);
        add(&t, 0, (const double[]){100}, 1, 1000);
        struct dlb_cell_result *rep = rep_of(&t, 0, 0);
        epoch(rep, 100, 100, 0xa, true)->n_unique = 98;
        rep->workers.n_skipped = n_skipped;
        rep->workers.n_cut_shards = 0;
        judge(&t);
        assert_failed(&t, 0, DLB_ERR_SAMPLES_TWICE, "2 of 100");
        close_judged(&t);
    }
}

/* The repetition that is shown skips nothing, and another does. */
static void test_skipped_in_one_repetition(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *const[]){"sweep.loader.num_workers=[0, 1]",
                                          "dataset.on_error=skip", NULL});
    add(&t, 0, (const double[]){100, 101, 130}, 3, 1000);
    for (uint32_t i = 0; i < 3; i++) {
        struct dlb_cell_result *rep = rep_of(&t, 0, i);
        uint64_t n = i == 2 ? 30 : 0;
        rep->loop.total.busy_ns = rep->loop.total.window_ns;
        rep->loop.total.idle_input_ns = 0;
        epoch(rep, 100 - n, 100, 0xa, true)->n_skipped = n;
        rep->workers.n_skipped = n;
    }
    judge(&t);
    const struct dlb_judged_cell *cell = &t.j.cells[0];
    const struct dlb_lost shown = dlb_cell_result_lost(cell->shown);
    assert_int_equal(shown.n, 0);
    const struct dlb_skipped all = dlb_reps_skipped(&t.results.cells[0], cell->shown);
    assert_true(fabs(dlb_lost_frac(&all.lost) - 0.1) < 1e-9);
    assert_int_equal(all.n_samples, 30);
    assert_int_equal(cell->verdict.severity, DLB_SEVERITY_WARN);
    assert_non_null(strstr(cell->verdict.text, "30 of 300"));
    bool noted = false;
    for (size_t k = 0; k < json_array_size(t.j.notes); k++) {
        const json_t *note = json_array_get(t.j.notes, k);
        noted = noted || (strcmp(dlb_json_text(note, "code"), "SAMPLES_SKIPPED") == 0 &&
                          strstr(dlb_json_text(note, "text"), "30 of 100"));
    }
    assert_true(noted);
    close_judged(&t);
}

/* A shard is cut in both; only the first repetition got to the end of its epoch, which tells how
 * many samples that was. */
static void test_shards_whose_samples_nobody_counted(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *const[]){"sweep.loader.num_workers=[0, 1]",
                                          "dataset.on_error=skip", NULL});
    add(&t, 0, (const double[]){100, 101}, 2, 1000);
    for (uint32_t i = 0; i < 2; i++) {
        struct dlb_cell_result *rep = rep_of(&t, 0, i);
        (void)epoch(rep, 90, 100, 0xa, i == 0);
        rep->workers.n_skipped = 0;
        rep->workers.n_cut_shards = 1;
    }
    judge(&t);
    const struct dlb_skipped all =
        dlb_reps_skipped(&t.results.cells[0], &t.results.cells[0].rep[0]);
    assert_int_equal(all.lost.n, 10);
    assert_int_equal(all.n_cut_shards, 2);
    assert_int_equal(all.n_uncounted_shards, 1);
    assert_non_null(strstr(t.j.cells[0].verdict.text, "epoch: 1;"));
    close_judged(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_delivery_fails_the_cell),
        cmocka_unit_test(test_only_what_the_seed_leaves_is_compared),
        cmocka_unit_test(test_samples_that_come_twice_fail_the_cell),
        cmocka_unit_test(test_skipping_excuses_what_was_skipped),
        cmocka_unit_test(test_what_was_lost_is_in_the_verdict),
        cmocka_unit_test(test_skipped_in_one_repetition),
        cmocka_unit_test(test_shards_whose_samples_nobody_counted),
        cmocka_unit_test(test_nothing_readable_is_about_the_data),
        cmocka_unit_test(test_no_full_batch_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
