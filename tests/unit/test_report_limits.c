/* Large results in the reports: nothing is cut within a number, and what is left out is counted. */
#include "tests/support/rendered.h"

#include "reports/table.h"

static json_t *cells_of(const json_t *doc)
{
    return json_object_get(doc, "cells");
}

/* A sweep of n cells: all are copies of the first. */
static json_t *sweep_of(int n)
{
    json_t *doc = summary_of("sweep"), *cells = json_array();
    for (int i = 0; i < n; i++) {
        json_t *cell = json_deep_copy(json_array_get(cells_of(doc), 0));
        json_object_set_new(cell, "index", json_integer(i));
        json_array_append_new(cells, cell);
    }
    json_object_set_new(doc, "cells", cells);
    json_object_set_new(doc, "best_cell", json_integer(0));
    json_object_set_new(doc, "recommended_cell", json_integer(0));
    return doc;
}

static void set_failed(json_t *doc, size_t i, const char *reason)
{
    json_t *cell = json_array_get(cells_of(doc), i);
    json_object_set_new(cell, "status", json_string("failed"));
    json_object_set_new(cell, "reason", json_string(reason));
}

/* What is between `from` and the next ')', on one line. The caller frees it. */
static char *list_behind(const char *text, const char *from)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    at += strlen(from);
    char *list = strndup(at, strcspn(at, ")"));
    for (char *c = list; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    return list;
}

static void test_failed_cells_are_ranges(void **state)
{
    (void)state;
    json_t *doc = sweep_of(304);
    for (size_t i = 2; i < 300; i++)
        set_failed(doc, i, "disk went away");
    set_failed(doc, 301, "disk went away");
    set_failed(doc, 302, "disk went away");
    set_failed(doc, 303, "another");
    char *text = rendered(doc, "text", 0);
    char *list = list_behind(text, "disk went away (cells ");
    assert_string_equal(list, "2-299, 301, 302");
    assert_has(text, "another (cell 303)\n");
    free(list);
    free(text);
    json_decref(doc);
}

/* Every other cell failed: those that are named, and the number of the others, are all of them. */
static void test_long_lists_say_how_many_more(void **state)
{
    (void)state;
    enum { N = 600 };
    json_t *doc = sweep_of(N);
    for (size_t i = 1; i < N; i += 2)
        set_failed(doc, i, "why");
    char *text = rendered(doc, "text", 0), *list = list_behind(text, "why (cells ");
    char *more = strstr(list, " and ");
    assert_non_null(more);
    *more = '\0';
    long n = 0;
    for (char *word = strtok(list, ", "); word; word = strtok(NULL, ", "), n++)
        assert_int_equal(strtol(word, NULL, 10), 1 + 2 * n);
    assert_in_range(n, 50, 200);
    assert_int_equal(n + strtol(more + strlen(" and "), NULL, 10), N / 2);
    free(list);
    free(text);
    json_decref(doc);
}

/* `varies`: the values of the cells differ. */
static void add_axis(json_t *doc, int number, bool several, bool varies)
{
    char key[32];
    (void)snprintf(key, sizeof(key), "files.k%d", number);
    json_object_set_new(json_object_get(doc, "axes"), key,
                        several ? json_pack("[ii]", 71000, 72000) : json_pack("[i]", 71000));
    for (size_t i = 0; i < json_array_size(cells_of(doc)); i++)
        json_object_set_new(json_object_get(json_array_get(cells_of(doc), i), "config"), key,
                            json_integer(71000 + (varies ? 1000 * (json_int_t)i : 0)));
}

static void check_the_last_axis(bool several)
{
    json_t *doc = sweep_of(2);
    for (int i = 0; i < 14; i++)
        add_axis(doc, i, several || i == 13, i == 13);
    char *text = rendered(doc, "terminal", 80);
    assert_has(text, " k13 ");
    assert_has(text, " 71000 ");
    assert_has(text, " 72000 ");
    free(text);
    text = rendered(doc, "text", 0);
    assert_true(strstr(text, " k13 ") < strstr(text, " k0 "));
    for (int i = 0; i < 14; i++) {
        char title[16];
        (void)snprintf(title, sizeof(title), " k%d ", i);
        assert_has(text, title);
    }
    free(text);
    json_decref(doc);
}

/* Of 14 other axes only the last varies, whether or not the others have several values. */
static void test_axes_that_vary_come_first(void **state)
{
    (void)state;
    check_the_last_axis(false);
    check_the_last_axis(true);
}

/* More axes than a table has columns for: how many have none is said. */
static void test_axes_without_a_column_are_counted(void **state)
{
    (void)state;
    enum { N = 2 * DLB_TABLE_MAX_COLUMNS };
    json_t *doc = sweep_of(2);
    for (int i = 0; i < N; i++)
        add_axis(doc, i, true, true);
    char *text = rendered(doc, "text", 0);
    int n_shown = 0;
    for (int i = 0; i < N; i++) {
        char title[16];
        (void)snprintf(title, sizeof(title), " k%d ", i);
        n_shown += strstr(text, title) != NULL;
    }
    char left_out[32];
    (void)snprintf(left_out, sizeof(left_out), "(%d ", N - n_shown);
    assert_in_range(n_shown, DLB_TABLE_MAX_COLUMNS / 2, DLB_TABLE_MAX_COLUMNS);
    assert_has(text, left_out);
    free(text);
    text = rendered(doc, "terminal", 80);
    assert_has(text, left_out);
    free(text);
    json_decref(doc);
}

static void test_large_rates_are_whole(void **state)
{
    (void)state;
    json_t *doc = sweep_of(1), *cell = json_array_get(cells_of(doc), 0);
    json_object_set_new(cell, "samples_per_s",
                        json_pack("{sI, sI, sI, ss, s[I]}", "median", (json_int_t)1234567890, "low",
                                  (json_int_t)123400000, "high", (json_int_t)2345600000, "interval",
                                  "min-max", "values", (json_int_t)123400000));
    char *text = rendered(doc, "text", 0);
    assert_has(text, " 1,234,567,890 (123,400,000-2,345,600,000) ");
    free(text);
    json_object_set_new(json_object_get(cell, "samples_per_s"), "high", json_real(1.5e17));
    text = rendered(doc, "text", 0);
    assert_has(text, " 1,234,567,890 (123,400,000-1.5e+17) ");
    free(text);
    json_decref(doc);
}

/* 100 times the share is no number. */
static void test_a_share_beyond_all_numbers(void **state)
{
    (void)state;
    json_t *doc = sweep_of(1), *cell = json_array_get(cells_of(doc), 0);
    json_object_set_new(cell, "gpu_idle_frac", json_pack("{sf}", "median", 1e308));
    char *text = rendered(doc, "text", 0), *row = strstr(text, "verdict\n") + strlen("verdict\n");
    row[strcspn(row, "\n")] = '\0';
    assert_null(strstr(row, "inf"));
    assert_null(strstr(row, "000000000"));
    free(text);
    json_decref(doc);
}

static void test_large_counts_are_whole(void **state)
{
    (void)state;
    json_t *doc = summary_of("gap"), *gap = json_object_get(doc, "gap");
    json_t *rung = json_array_get(json_object_get(gap, "rungs"), 0);
    json_t *os = json_object_get(rung, "os"), *process = json_object_get(os, "process");
    json_object_set_new(
        os, "copy_calls",
        json_pack("{sI, sI}", "count", (json_int_t)1234567890, "max_ns", (json_int_t)1000000));
    json_object_set_new(process, "voluntary_switches", json_integer(9876543210123456));
    json_object_set_new(process, "involuntary_switches", json_integer(1));
    json_object_set_new(json_array_get(json_object_get(gap, "decomposition"), 0), "seconds",
                        json_real(123456789.0));
    char *text = rendered(doc, "text", 0);
    assert_has(text, " 1,234,567,890 / 1.0 ms");
    assert_has(text, " 9,876,543,210,123,456/1 ");
    assert_has(text, " 1428 d 21 h ");
    free(text);
    json_decref(doc);
}

/* A share of what is not known is not known either. */
static void test_a_share_of_no_total(void **state)
{
    (void)state;
    json_t *doc = summary_of("gap");
    char *text = rendered(doc, "md", 0);
    assert_has(strstr(text, "| all |"), "| 100.0% |");
    free(text);
    json_object_set_new(json_object_get(doc, "gap"), "total_seconds", json_null());
    text = rendered(doc, "md", 0);
    char *row = strstr(text, "| all |");
    row[strcspn(row, "\n")] = '\0';
    assert_null(strchr(row, '%'));
    free(text);
    json_decref(doc);
}

/* Nanoseconds that no 64-bit number holds. */
static void test_a_timeline_of_ages(void **state)
{
    (void)state;
    static const struct {
        double span_ns;
        bool shown;
    } cases[] = {{9e18, true}, {0x1p63, false}, {1e30, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = summary_of("run");
        json_object_set_new(doc, "timeline",
                            json_pack("{si, sf, s[s], s[{ss, ss, s[[iif][iif][iif]]}]}", "steps", 3,
                                      "span_ns", cases[i].span_ns, "names", "read", "tracks",
                                      "name", "w", "kind", "worker", "lane", 0, 0, cases[i].span_ns,
                                      0, 0, cases[i].span_ns, 0, 0, cases[i].span_ns));
        char *page = rendered(doc, "html", 0);
        assert_int_equal(strstr(page, "id=\"r0-timeline\"") != NULL, cases[i].shown);
        if (cases[i].shown)
            assert_has(page, "data-v=\"27000000000000000000\"");
        free(page);
        json_decref(doc);
    }
}

static size_t n_blocks, n_blocks_most;

static void *counting_malloc(size_t n_bytes)
{
    n_blocks++;
    n_blocks_most = n_blocks > n_blocks_most ? n_blocks : n_blocks_most;
    return malloc(n_bytes);
}

static void counting_free(void *block)
{
    n_blocks -= block ? 1 : 0;
    free(block);
}

/* Rows of CSV are not all held at once: a small document may have very many fields. */
static void test_csv_holds_no_matrix(void **state)
{
    (void)state;
    enum { N = 300 };
    json_t *doc = sweep_of(N),
           *config = json_object_get(json_array_get(cells_of(doc), 1), "config");
    for (int i = 0; i < N; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "files.k%d", i);
        json_object_set_new(json_object_get(doc, "axes"), key, json_array());
        json_object_set_new(config, key, json_integer(i));
    }
    json_set_alloc_funcs(counting_malloc, counting_free);
    char *text = rendered(doc, "csv", 0);
    json_set_alloc_funcs(malloc, free);
    assert_in_range(n_blocks_most, 1, N * N / 3);
    assert_has(text, ",files.k0,");
    assert_has(text, ",files.k299,repetition,samples_per_s\n");
    assert_has(text, ",298,299,0,");
    free(text);
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_cells_are_ranges),
        cmocka_unit_test(test_long_lists_say_how_many_more),
        cmocka_unit_test(test_axes_that_vary_come_first),
        cmocka_unit_test(test_axes_without_a_column_are_counted),
        cmocka_unit_test(test_large_rates_are_whole),
        cmocka_unit_test(test_a_share_beyond_all_numbers),
        cmocka_unit_test(test_large_counts_are_whole),
        cmocka_unit_test(test_a_share_of_no_total),
        cmocka_unit_test(test_a_timeline_of_ages),
        cmocka_unit_test(test_csv_holds_no_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
