/* Large results in the reports: nothing is cut within a number, and what is left out is counted. */
#include "tests/support/rendered.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_cells_are_ranges),
        cmocka_unit_test(test_long_lists_say_how_many_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
