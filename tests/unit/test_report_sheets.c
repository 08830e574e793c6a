/* Figures that the page works out from those of the document: where a line stops to grow, when a
 * cell ran last, and first-screen figures of slow work. */
#include "tests/support/rendered.h"

#include "core/base/json.h"
#include "reports/ranked.h"
#include "reports/sheets/figures.h"

#include <math.h>

enum { N_CELLS = 4 };

static void set_rate(json_t *cell, double rate)
{
    static const char *const keys[] = {"samples_per_s", "within_epoch_samples_per_s",
                                       "epoch_samples_per_s"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *estimate = json_object_get(cell, keys[i]);
        if (!json_is_object(estimate))
            continue;
        json_object_set_new(estimate, "median", json_real(rate));
        json_object_set_new(estimate, "low", json_real(rate * 0.99));
        json_object_set_new(estimate, "high", json_real(rate * 1.01));
    }
}

/* A sweep of 1, 2, 4 and 8 workers; the third is recommended. */
static json_t *sweep_of(const double *rates)
{
    json_t *doc = summary_of("sweep"), *cells = json_array();
    const json_t *model = dlb_ranked_offered(doc);
    assert_non_null(model);
    for (int i = 0; i < N_CELLS; i++) {
        json_t *cell = json_deep_copy(model);
        json_object_set_new(cell, "index", json_integer(i));
        json_object_set_new(json_object_get(cell, "config"), "loader.num_workers",
                            json_integer(1 << i));
        set_rate(cell, rates[i]);
        json_array_append_new(cells, cell);
    }
    json_object_set_new(doc, "cells", cells);
    json_object_set_new(doc, "recommended_cell", json_integer(2));
    json_object_set_new(doc, "best_cell", json_integer(3));
    json_object_set_new(json_object_get(doc, "config"), "sweep.tolerance", json_real(0.02));
    return doc;
}

/* The number behind the word; -1: it is not there. */
static int number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    at = at ? at + strcspn(at, "0123456789") : NULL;
    return at ? (int)strtol(at, NULL, 10) : -1;
}

static void test_knee(void **state)
{
    (void)state;
    static const struct {
        double rates[N_CELLS];
        int knee;
    } cases[] = {{{100, 150, 197, 200}, 4},  /* within 2% of 200 */
                 {{100, 199, 190, 200}, 2},  /* the fewest, whatever comes between */
                 {{100, 150, 180, 200}, -1}, /* it still grows */
                 {{200, 199, 198, 190}, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = sweep_of(cases[i].rates);
        char *page = rendered(doc, "html", 0);
        assert_int_equal(number_behind(page, "The knee"), cases[i].knee);
        free(page);
        json_decref(doc);
    }
}

/* Of the race: the last of the blocks, counted from 1. */
static void test_last_block(void **state)
{
    (void)state;
    json_t *doc = sweep_of((const double[]){100, 150, 197, 200});
    json_t *cell = json_array_get(json_object_get(doc, "cells"), 1);
    json_object_set_new(doc, "recommendation_detail", json_null());
    json_object_set_new(cell, "repeats", json_integer(3));
    json_object_set_new(cell, "blocks", json_pack("[i, i, i]", 0, 6, 2));
    json_object_set_new(cell, "race",
                        json_pack("{ss, sf, s{sf, sf, sf}}", "state", "dropped", "probability",
                                  0.01, "loss_frac", "median", 0.25, "low", 0.2, "high", 0.3));
    char *page = rendered(doc, "html", 0);
    const char *row = strstr(page, ">dropped</td>");
    assert_non_null(row);
    assert_int_equal(number_behind(row, "data-v=\""), 3);
    row = strstr(row, "data-v=\"") + 1;
    assert_int_equal(number_behind(row, "data-v=\""), 7);
    free(page);
    json_decref(doc);
}

/* 100 times the tolerance is no number. */
static void test_knee_of_a_huge_tolerance(void **state)
{
    (void)state;
    json_t *doc = sweep_of((const double[]){100, 150, 197, 200});
    json_object_set_new(json_object_get(doc, "config"), "sweep.tolerance", json_real(1e308));
    char *text = rendered(doc, "html", 0);
    assert_int_equal(number_behind(text, "The knee"), 1);
    assert_null(strstr(text, "inf%"));
    free(text);
    json_decref(doc);
}

/* Of one repetition the ends are no interval: neither in the table of cells nor in that of rates,
 * nor is an end that is missing a number. */
static void test_ends_of_one_repetition(void **state)
{
    (void)state;
    static const struct {
        const char *interval;
        double high;
        bool shown;
    } cases[] = {{"none", 4040, false}, {"min-max", 4040, true}, {"min-max", NAN, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = sweep_of((const double[]){1000, 2000, 3000, 4000});
        json_t *rate =
            json_object_get(json_array_get(json_object_get(doc, "cells"), 3), dlb_ranked_rate(doc));
        json_object_set_new(rate, "interval", json_string(cases[i].interval));
        json_object_set_new(rate, "high", dlb_json_real_or_null(cases[i].high));
        char *text = rendered(doc, "md", 0);
        assert_has(text, "| 4,000 |");
        assert_int_equal(strstr(text, "| 4,040 |") != NULL, cases[i].shown);
        free(text);
        text = rendered(doc, "text", 0);
        assert_has(text, " 4,000 ");
        assert_null(strstr(text, "nan"));
        assert_int_equal(strstr(text, "4,000 (3,960-4,040)") != NULL, cases[i].shown);
        free(text);
        json_decref(doc);
    }
}

/* A step of seconds asks for parts of a sample a second. */
static void test_slow_work_keeps_its_digits(void **state)
{
    (void)state;
    json_t *doc = sweep_of((const double[]){0.25, 0.25, 0.25, 0.25});
    char *page = rendered(doc, "html", 0);
    assert_has(page, "<dd data-v=\"0.25\">0.25 <small>samples/s</small></dd>");
    free(page);
    json_decref(doc);
}

/* A call to paste that holds backticks, is long, and turns the direction of text. */
static void test_markdown_code_is_whole_and_inert(void **state)
{
    (void)state;
    json_t *doc = sweep_of((const double[]){100, 150, 197, 200});
    char call[4096] = "DataLoader(````, \xe2\x80\xae";
    memset(call + strlen(call), 'x', 3000);
    (void)snprintf(call + strlen(call), 16, ", end)");
    json_object_set_new(doc, "pytorch", json_string(call));
    char *text = rendered(doc, "md", 0);
    assert_has(text, "\n`````python\n");
    assert_has(text, ", end)\n`````\n");
    assert_has(text, "[U+202E]");
    assert_null(strstr(text, "\xe2\x80\xae"));
    free(text);
    json_decref(doc);
}

/* Each value of the grid leads to its own cell. */
static void test_the_grid_leads_to_cells(void **state)
{
    (void)state;
    json_t *doc = sweep_of((const double[N_CELLS]){100, 150, 180, 200});
    char *page = rendered(doc, "html", 0);
    char *idle = strstr(page, "id=\"r0-idle\"");
    assert_non_null(idle);
    *strstr(idle, "</figure>") = '\0';
    for (int i = 0; i < N_CELLS; i++) {
        char link[40];
        (void)snprintf(link, sizeof(link), "<a href=\"#r0-c%d\">", i);
        assert_has(idle, link);
    }
    free(page);
    json_decref(doc);
}

static void test_durations_have_units(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(dlb_unit_text(DLB_UNIT_MS, 12.5, text, sizeof(text)), "12.5 ms");
    assert_string_equal(dlb_unit_text(DLB_UNIT_S, 12.5, text, sizeof(text)), "12.5 s");
}

/* Ladders beside each other are compared by the gap that their first sentence has. */
static void test_ladders_beside_each_other(void **state)
{
    (void)state;
    json_t *docs[2] = {summary_of("gap"), summary_of("gap")}, *rung;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(docs[1], "gap"), "rungs"), i, rung)
        if (strcmp(dlb_json_text(rung, "rung"), "torch-direct") == 0)
            json_object_set_new(json_object_get(rung, "seconds"), "median", json_real(0.5));
    json_object_set_new(json_object_get(docs[1], "gap"), "total_low", json_real(40));
    struct dlb_sheet sheet = {.chart = DLB_CHART_NONE};
    dlb_sheet_beside((const json_t *const *)docs, 2, &sheet);
    assert_int_equal(sheet.column[2].unit, DLB_UNIT_RATIO);
    const struct dlb_sheet_value *second = sheet.value + sheet.n_columns;
    assert_in_range((int)(sheet.value[2].number * 100), 964, 966); /* 41.5 s by 4.3 s */
    assert_in_range((int)second[2].number, 82, 83);
    assert_true(second[3].number == 81 && isnan(second[4].number));
    dlb_sheet_free(&sheet);
    json_decref(docs[0]);
    json_decref(docs[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knee),
        cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_knee_of_a_huge_tolerance),
        cmocka_unit_test(test_ends_of_one_repetition),
        cmocka_unit_test(test_slow_work_keeps_its_digits),
        cmocka_unit_test(test_markdown_code_is_whole_and_inert),
        cmocka_unit_test(test_the_grid_leads_to_cells),
        cmocka_unit_test(test_durations_have_units),
        cmocka_unit_test(test_ladders_beside_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
