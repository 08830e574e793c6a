#include "reports/table.h"
#include "tests/support/rendered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A real sweep: cells 0 (0 workers), 2 to 5 ran, 1 is skipped. */
static json_t *sweep(void)
{
    return summary_of("sweep");
}

static void test_narrow_terminals_lose_columns_not_sense(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_object_set_new(doc, "pytorch", json_string("short()"));
    for (uint32_t width = 40; width <= 140; width += 20) {
        char *text = rendered(doc, "terminal", width);
        assert_in_range(longest_line(text), 1, width);
        assert_has(text, "workers");
        assert_has(text, "samples/s");
        assert_has(text, "verdict");
        if (width <= 60)
            assert_has(text, "summary.txt has");
        free(text);
    }
    json_decref(doc);
}

/* At 80 columns rows still differ in what was swept; what is equal in all rows goes first. */
static void test_axes_outlast_figures(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_object_set_new(doc, "axes",
                        json_pack("{s:[ii], s:[bb], s:[ii], s:[bb]}", "loader.num_workers", 0, 4,
                                  "loader.pin_memory", 0, 1, "loader.prefetch_factor", 2, 4,
                                  "loader.persistent_workers", 0, 1));
    char *text = rendered(doc, "terminal", 80);
    assert_in_range(strcspn(strstr(text, "cell  "), "\n"), 1, 80);
    assert_has(text, "  pin  pf  pers  ");
    assert_has(text, "GPU idle %");
    assert_null(strstr(text, "input wait %"));
    free(text);
    json_object_set_new(doc, "axes", json_pack("{s:[ii]}", "loader.num_workers", 0, 4));
    text = rendered(doc, "terminal", 80);
    assert_has(text, "GPU idle %");
    assert_null(strstr(text, "  pers  "));
    free(text);
    json_decref(doc);
}

/* At 80 columns a race's table still says what was swept, what became of each cell and after how
 * many runs; a result without a race has no such column. */
static void test_a_race_is_told(void **state)
{
    (void)state;
    static const char *const states[] = {"finalist", "",       "dropped",
                                         "screened", "racing", "dropped"};
    json_t *doc = sweep(), *cell;
    size_t i;
    char *text = rendered(doc, "text", 0);
    assert_null(strstr(text, "race, runs"));
    free(text);
    json_object_set_new(doc, "axes",
                        json_pack("{s:[ii], s:[bb], s:[ii], s:[bb]}", "loader.num_workers", 0, 4,
                                  "loader.pin_memory", 0, 1, "loader.prefetch_factor", 2, 4,
                                  "loader.persistent_workers", 0, 1));
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        json_object_set_new(cell, "repeats", json_integer(3 + (json_int_t)i * 10));
        if (i != 1) /* which is skipped */
            json_object_set_new(
                cell, "race",
                json_pack("{ss, sn, sn}", "state", states[i], "probability", "loss_frac"));
    }
    for (uint32_t width = 80; width <= 160; width += 20) {
        text = rendered(doc, "terminal", width);
        assert_in_range(strcspn(strstr(text, "cell  "), "\n"), 1, width);
        static const char *const words[] = {"  pin  ",       "race, runs",   "finalist 3 ",
                                            "  dropped 23 ", "screened 33 ", "racing 43 ",
                                            "dropped 53 "};
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            assert_has(text, words[k]);
        if (width == 80)
            assert_has(text, "  pin  pf  pers  ");
        free(text);
    }
    json_decref(doc);
}

/* Idle time and waits are shares of the time that the rate beside them is of. */
static void test_shares_are_of_the_ranked_rate(void **state)
{
    (void)state;
    json_t *doc = sweep(), *cell = json_array_get(json_object_get(doc, "cells"), 0);
    json_object_set_new(doc, "ranked_by", json_string("epoch_samples_per_s"));
    json_object_set_new(cell, "epoch_samples_per_s",
                        json_pack("{sf, sf, sf, ss}", "median", 4321.0, "low", 4300.0, "high",
                                  4400.0, "interval", "none"));
    json_object_set_new(cell, "epoch_gpu_idle_frac", json_real(0.6543));
    json_object_set_new(cell, "epoch_input_wait_frac", json_real(0.5432));
    char *text = rendered(doc, "terminal", 0), *row = strstr(text, "verdict\n") + 8;
    row[strcspn(row, "\n")] = '\0';
    assert_has(row, " 4,321 ");
    assert_has(row, " 65.4 ");
    assert_has(row, " 54.3 ");
    free(text);
    json_decref(doc);
}

/* A figure that was not measured is not shown as zero. */
static void test_null_reads_dash(void **state)
{
    (void)state;
    json_t *doc = sweep(), *cell = json_array_get(json_object_get(doc, "cells"), 0);
    json_array_clear(json_object_get(doc, "cells"));
    cell = sweep();
    json_t *kept = json_incref(json_array_get(json_object_get(cell, "cells"), 0));
    json_decref(cell);
    json_object_set_new(json_object_get(kept, "gpu_idle_frac"), "median", json_null());
    json_object_set_new(json_object_get(kept, "input_wait_frac"), "median", json_null());
    json_object_set_new(json_object_get(kept, "samples_per_s"), "median", json_null());
    json_object_set_new(kept, "read_bytes_per_s", json_null());
    json_array_append_new(json_object_get(doc, "cells"), kept);
    char *text = rendered(doc, "terminal", 0), *row = strstr(text, "verdict\n") + 8;
    row[strcspn(row, "\n")] = '\0';
    uint32_t n_dashes = 0;
    for (char *at = row; (at = strstr(at, " -")) != NULL; at += 2)
        n_dashes += at[2] == ' ';
    assert_int_equal(n_dashes, 6); /* prefetch, persistent: 0 workers; four that are not measured */
    assert_null(strstr(row, "0.0"));
    free(text);
    json_decref(doc);
}

static void test_other_axes_become_columns(void **state)
{
    (void)state;
    json_t *doc = sweep();
    json_object_set_new(json_object_get(doc, "axes"), "loader.batch_size",
                        json_pack("[ii]", 32, 64));
    char *text = rendered(doc, "terminal", 0);
    assert_has(text, "batch_size");
    free(text);
    /* Two columns may not have the same title: loader.prefetch_factor's is "prefetch". */
    json_object_set_new(json_object_get(doc, "axes"), "device.prefetch", json_pack("[ii]", 0, 2));
    text = rendered(doc, "text", 0);
    assert_has(text, " device.prefetch ");
    free(text);
    json_decref(doc);
}

static void test_long_values_show_their_end(void **state)
{
    (void)state;
    json_t *doc = sweep(), *cell;
    size_t i;
    json_object_set_new(json_object_get(doc, "axes"), "python.loader", json_pack("[ss]", "a", "b"));
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        char value[64]; /* a character of two bytes lies across the 27th from the end */
        (void)snprintf(value, sizeof(value), "long/path/\xc3\xa9/aaaaa/module/loaders.py:%zu", i);
        json_object_set_new(json_object_get(cell, "config"), "python.loader", json_string(value));
    }
    char *text = rendered(doc, "text", 0);
    assert_has(text, " .../aaaaa/module/loaders.py:2 ");
    assert_has(text, " .../aaaaa/module/loaders.py:4 ");
    free(text);
    json_decref(doc);
}

static void test_table_drops_the_highest_rank(void **state)
{
    (void)state;
    struct dlb_table table = {0};
    struct dlb_text text = {0};
    char cells[3][DLB_TABLE_CELL_CAP] = {"1", "22", "333"};
    assert_true(dlb_table_add(&table, "a", 0, false));
    assert_true(dlb_table_add(&table, "bb", 2, false));
    assert_true(dlb_table_add(&table, "long title", 1, true));
    table.cell = cells;
    table.n_rows = 1;
    assert_int_equal(dlb_table_render(&table, 0, &text), 0);
    assert_string_equal(text.data, "a  bb  long title\n1  22  333\n");
    dlb_text_free(&text);
    assert_int_equal(dlb_table_render(&table, 13, &text), 1);
    assert_string_equal(text.data, "a  long title\n1  333\n");
    dlb_text_free(&text);
    assert_int_equal(dlb_table_render(&table, 5, &text), 2);
    assert_string_equal(text.data, "a\n1\n");
    dlb_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_terminals_lose_columns_not_sense),
        cmocka_unit_test(test_axes_outlast_figures),
        cmocka_unit_test(test_a_race_is_told),
        cmocka_unit_test(test_shares_are_of_the_ranked_rate),
        cmocka_unit_test(test_null_reads_dash),
        cmocka_unit_test(test_other_axes_become_columns),
        cmocka_unit_test(test_long_values_show_their_end),
        cmocka_unit_test(test_table_drops_the_highest_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
