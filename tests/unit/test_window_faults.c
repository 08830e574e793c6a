/* What a result says of a window's own faults: its trend, its stock, its bias; null where the
 * window was too short to tell. */
#include "core/measure/window_bias.h"
#include "scenarios/judge/summary.h"

#include "tests/support/judged.h"
#include "tests/support/planned.h"

#define NOT_KNOWN ((double)NAN)
#define N_CELLS 2

static const char *const settings[] = {"sweep.loader.num_workers=[8, 4]", "device.step_ms=1", NULL};

/* A sweep whose first cell has three repetitions with that pace, and the second a steady one. */
static void open_faulty(struct judged *t, const struct dlb_pace *pace)
{
    const struct dlb_pace steady = {.round = 4, .whole_rounds = true, .trend_limit = 0.02};

    open_judged(t, settings);
    for (uint32_t cell = 0; cell < N_CELLS; cell++)
        for (uint32_t block = 0; block < 3; block++) {
            struct dlb_cell_result one = rep(320, 0.1, block, 1000);
            one.loop.pace = cell ? steady : *pace;
            one.loop.pace.n_epoch_batches = NOT_KNOWN;
            put(&t->results.cells[cell], one);
        }
    judge(t);
}

static struct dlb_pace pace_of(double trend, double trend_limit, double drained_frac)
{
    return (struct dlb_pace){.round = 8,
                             .whole_rounds = true,
                             .trend = trend,
                             .trend_limit = trend_limit,
                             .drained_frac = drained_frac};
}

/* The first cell in summary.json; new reference. */
static json_t *cell_of(const struct judged *t)
{
    struct dlb_config *cfg = config_of(settings);
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    json_t *environment = json_object();
    const struct dlb_shape shape = {.n_samples = 1000};
    dlb_spec_defaults(spec);
    const struct dlb_summary in = {.command = "sweep",
                                   .arguments = "",
                                   .run_name = "faults",
                                   .version = "1",
                                   .commit = "0",
                                   .environment = environment,
                                   .shape = &shape,
                                   .spec = spec,
                                   .cfg = cfg,
                                   .plan = &t->plan,
                                   .results = &t->results,
                                   .judgement = &t->j};
    json_t *doc = dlb_summary_build(&in);
    json_t *cell = json_incref(json_array_get(json_object_get(doc, "cells"), 0));
    json_decref(doc);
    json_decref(environment);
    dlb_config_free(cfg);
    free(spec);
    return cell;
}

/* Cell 0 has that note with its figure, or, with NULL, none of the three. */
static void assert_said(const struct judged *t, const char *code, const char *figure)
{
    static const char *const codes[] = {"NOT_STATIONARY", "DRAINING", "WINDOW_BIAS"};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (code && strcmp(codes[i], code) == 0)
            assert_noted(t->j.notes, code, figure);
        else
            assert_null(noted(t->j.notes, codes[i], NULL));
    }
}

static void test_halves_that_differ(void **state)
{
    (void)state;
    static const struct {
        double trend, trend_limit;
        json_type stationary;
        const char *code;
    } rows[] = {
        {0.1, 0.05, JSON_FALSE, "NOT_STATIONARY"},
        {-0.1, 0.05, JSON_FALSE, "NOT_STATIONARY"},
        {0.04, 0.05, JSON_TRUE, NULL},
        {0, 0.02, JSON_TRUE, NULL},
        {0.5, NOT_KNOWN, JSON_NULL, NULL}, /* of two or three rounds */
        {NOT_KNOWN, NOT_KNOWN, JSON_NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged t;
        struct dlb_pace pace = pace_of(rows[i].trend, rows[i].trend_limit, 0);
        open_faulty(&t, &pace);
        assert_said(&t, rows[i].code, "cell 0");
        json_t *cell = cell_of(&t);
        assert_int_equal(json_typeof(json_object_get(cell, "stationary")), rows[i].stationary);
        json_decref(cell);
        close_judged(&t);
    }
}

static void test_stock_that_drains(void **state)
{
    (void)state;
    static const struct {
        double drained_frac;
        const char *code, *figure;
    } rows[] = {
        {0.012, "DRAINING", "1.2%"},
        {0.004, NULL, NULL},
        {0, NULL, NULL},
        {NOT_KNOWN, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judged t;
        struct dlb_pace pace = pace_of(0, 0.02, rows[i].drained_frac);
        open_faulty(&t, &pace);
        assert_said(&t, rows[i].code, rows[i].figure);
        json_t *cell = cell_of(&t), *said = json_object_get(cell, "drained_frac");
        if (isnan(rows[i].drained_frac))
            assert_true(json_is_null(said));
        else
            assert_true(json_number_value(said) == rows[i].drained_frac);
        json_decref(cell);
        close_judged(&t);
    }
}

/* 8 workers whose batch times vary, and 32 batches of them. */
static void test_bias_of_short_windows(void **state)
{
    (void)state;
    for (int varies = 0; varies < 2; varies++) {
        struct judged t;
        struct dlb_pace pace = pace_of(0, 0.02, 0);
        pace.batch_cv = varies ? 0.2 : 0;
        open_faulty(&t, &pace);
        assert_said(&t, varies ? "WINDOW_BIAS" : NULL, "cell 0");
        json_t *cell = cell_of(&t);
        double said = fabs(json_number_value(json_object_get(cell, "window_bias_frac")));
        assert_true(varies ? said >= DLB_BIAS_SAID : said < DLB_BIAS_SAID);
        json_decref(cell);
        close_judged(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves_that_differ),
        cmocka_unit_test(test_stock_that_drains),
        cmocka_unit_test(test_bias_of_short_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
