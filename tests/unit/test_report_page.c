/* report.html, as a text: its documents, its figures and its links. tests/cli/test_page.sh looks at
 * it in a browser. */
#include "core/measure/trace_names.h"
#include "core/base/json.h"
#include "core/base/rng.h"
#include "reports/ranked.h"
#include "reports/report.h"
#include "scenarios/compare/compare.h"
#include "tests/support/rendered.h"

#include <math.h>

static uint32_t n_of(const char *text, const char *words)
{
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        n++;
    return n;
}

/* The document in the page, read back. */
static json_t *document_in(const char *page, uint32_t number)
{
    char begin[80];
    (void)snprintf(begin, sizeof(begin), "<script type=\"application/json\" id=\"r%u-document\">",
                   number);
    const char *at = strstr(page, begin), *end = at ? strstr(at, "</script>") : NULL;
    assert_non_null(end);
    at += strlen(begin);
    return json_loadb(at, (size_t)(end - at), 0, NULL);
}

static void test_holds_the_document(void **state)
{
    (void)state;
    static const char *const names[] = {"run",    "sweep",   "storage",    "gap",
                                        "failed", "hostile", "gap_hostile"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *doc = summary_of(names[i]);
        char *page = rendered(doc, "html", 0);
        json_t *back = document_in(page, 0);
        assert_true(json_equal(doc, back));
        assert_memory_equal(page, "<!doctype html>\n<!-- dlbench: a result as a page,", 48);
        assert_int_equal(n_of(page, "{{"), 0);
        json_decref(back);
        free(page);
        json_decref(doc);
    }
}

/* Nothing is fetched: no address in an attribute, and a policy that would forbid it. Style and
 * scripts are those of the build, by their hashes: no attribute could hold either. */
static void test_loads_nothing(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep");
    char *page = rendered(doc, "html", 0);
    assert_has(page, "default-src 'none'");
    assert_null(strstr(page, "unsafe"));
    assert_in_range(n_of(page, "'sha256-"), 2, 3); /* without Chart.js: two */
    assert_int_equal(n_of(page, "<style"), 1);
    assert_int_equal(n_of(page, " style="), 0);
    assert_int_equal(n_of(page, " src="), 0);
    assert_int_equal(n_of(page, "@import"), 0);
    for (const char *at = page; (at = strstr(at, " href=\"")); at++)
        assert_int_equal(at[7], '#');
    free(page);
    json_decref(doc);
}

/* A row for each cell, with the document's figures; what leads to a cell finds its row. */
static void test_every_cell_has_a_row(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep");
    char *page = rendered(doc, "html", 0);
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        char row[40], figure[60];
        (void)snprintf(row, sizeof(row), "<tr id=\"r0-c%zu\">", i);
        assert_int_equal(n_of(page, row), 1);
        const char *at = strstr(page, row), *end = strstr(at, "</tr>");
        double rate = dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), "median");
        (void)snprintf(figure, sizeof(figure), "data-v=\"%.10g\"", rate);
        assert_int_equal(isfinite(rate), strstr(at, figure) && strstr(at, figure) < end);
    }
    for (const char *at = page; (at = strstr(at, "href=\"#")); at++) {
        char target[60];
        size_t n = strcspn(at + 7, "\"");
        assert_in_range(n, 1, 40);
        (void)snprintf(target, sizeof(target), "id=\"%.*s\"", (int)n, at + 7);
        assert_has(page, target);
    }
    free(page);
    json_decref(doc);
}

/* A document that lost cells: what names them is still shown, and leads nowhere. */
static void test_cells_that_are_missing(void **state)
{
    (void)state;
    json_t *doc = summary_of("storage");
    const json_t *curve = json_object_get(json_object_get(doc, "storage"), "curve");
    assert_int_equal(json_array_size(json_object_get(doc, "cells")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(curve, 2), "cell")), 2);
    char *page = rendered(doc, "html", 0);
    assert_true(n_of(page, "<a href=\"#r0-c0\">") > 0);
    assert_int_equal(n_of(page, "<a href=\"#r0-c1\">"), 0);
    assert_int_equal(n_of(page, "<a href=\"#r0-c2\">"), 0);
    free(page);
    json_decref(doc);
}

/* Each chart has a canvas with words for it and a table; nothing is drawn without figures. */
static void test_charts_have_tables(void **state)
{
    (void)state;
    static const struct {
        const char *name, *has, *has_not;
    } cases[] = {
        {"sweep", "id=\"r0-rates\" class=\"wide\" data-chart=\"lines\"", "id=\"r0-curve\""},
        {"sweep", "id=\"r0-idle\" class=\"wide\"", "id=\"r0-ladder\""},
        {"run", "id=\"r0-rates\" data-chart=\"bars\"", "id=\"r0-idle\""},
        {"storage", "id=\"r0-curve\" class=\"wide\" data-chart=\"lines\"", "id=\"r0-rates\""},
        {"gap", "id=\"r0-ladder\" data-chart=\"ranges\"", "id=\"r0-cells\""},
        {"gap", "id=\"r0-waterfall\" data-chart=\"waterfall\"", "id=\"r0-race\""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = summary_of(cases[i].name);
        char *page = rendered(doc, "html", 0);
        assert_has(page, cases[i].has);
        assert_null(strstr(page, cases[i].has_not));
        assert_int_equal(n_of(page, " data-chart=\""),
                         n_of(page, "<canvas role=\"img\" aria-label="));
        assert_int_equal(n_of(page, "<figure "), n_of(page, "<table>"));
        free(page);
        json_decref(doc);
    }
}

/* Two paths that end alike are two lines, and two rows of the grid. */
static void test_values_that_are_cut_keep_apart(void **state)
{
    (void)state;
    static const char *const paths[] = {"/mnt/a/projects/vision/imagenet/train/shards",
                                        "/mnt/b/projects/vision/imagenet/train/shards"};
    json_t *doc = summary_of("sweep"), *axes = json_object_get(doc, "axes"), *cell;
    size_t i;
    json_object_del(axes, "loader.prefetch_factor");
    json_object_set_new(axes, "dataset.path", json_pack("[s, s]", paths[0], paths[1]));
    json_array_foreach(json_object_get(doc, "cells"), i, cell)
        json_object_set_new(json_object_get(cell, "config"), "dataset.path",
                            json_string(paths[i % 2]));
    char *page = rendered(doc, "html", 0);
    const char *idle = strstr(page, "id=\"r0-idle\""), *end = strstr(idle, "</figure>");
    const char *first = strstr(idle, "shards (1)</td>"), *second = strstr(idle, "shards (2)</td>");
    assert_true(first && first < end && second && second < end);
    assert_has(strstr(page, "id=\"r0-cells\""), paths[0]);
    free(page);
    json_decref(doc);
}

/* A line of demand is drawn only if it is that of all cells. */
static void test_demand_of_cells_that_differ(void **state)
{
    (void)state;
    static const char mark[] = "data-name=\"demand\"", ready[] = "data-name=\"data always ready\"";
    json_t *doc = summary_of("sweep"), *cells = json_object_get(doc, "cells"), *cell;
    size_t i;
    json_array_foreach(cells, i, cell) {
        json_object_set_new(
            cell, "accelerators",
            json_pack("{si, s[{si, si}]}", "count", 1, "each", "samples", 640, "steps", 10));
        if (json_is_object(json_object_get(cell, "verdict")))
            json_object_set_new(json_object_get(cell, "verdict"), "gain",
                                json_pack("{sf}", "median", 1.5));
    }
    char *page = rendered(doc, "html", 0);
    assert_int_equal(n_of(page, mark), 1);
    assert_int_equal(n_of(page, ready), 1);
    free(page);
    json_object_set_new(json_object_get(json_array_get(cells, 3), "config"), "device.step_ms",
                        json_real(2));
    page = rendered(doc, "html", 0);
    assert_int_equal(n_of(page, mark), 0);
    assert_int_equal(n_of(page, ready), 0);
    free(page);
    json_decref(doc);
}

/* A stage that the document does not have was not measured: it took no 0 s. */
static void test_stages_that_are_missing(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep"), *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell)
        json_object_del(json_object_get(cell, "worker_stages"), "pin");
    char *page = rendered(doc, "html", 0);
    const char *row = strstr(strstr(page, "id=\"r0-work\""), "<tbody>");
    row = strstr(row, "</tr>");
    assert_memory_equal(row - strlen("<td>-</td>"), "<td>-</td>", strlen("<td>-</td>"));
    free(page);
    json_decref(doc);
}

/* What the loop computes itself is a part of its time; stages that are shown as one are added. */
static void test_loop_of_a_cell(void **state)
{
    (void)state;
    json_t *doc = summary_of("run"), *cell = json_array_get(json_object_get(doc, "cells"), 0);
    json_t *stages = json_object();
    static const char *const keys[] = {"input_wait", "host", "device_wait", "oversleep"};
    for (int i = 0; i < 4; i++)
        json_object_set_new(stages, keys[i],
                            json_pack("{si, si}", "count", 1, "sum_ns", 1000 << i));
    json_object_set_new(cell, "consumer_stages", stages);
    char *page = rendered(doc, "html", 0);
    const char *row = strstr(strstr(page, "id=\"r0-loop\""), "<tbody>"),
               *end = strstr(row, "</tr>");
    static const double shares[] = {1 / 15.0, 2 / 15.0, 12 / 15.0};
    for (int i = 0; i < 3; i++) {
        char value[40];
        (void)snprintf(value, sizeof(value), "data-v=\"%.10g\"", shares[i]);
        row = strstr(row, value);
        assert_true(row && row < end);
    }
    free(page);
    json_decref(doc);
}

/* The comparison comes first, with its changes; then both results, each with ids of its own. */
static void test_comparison(void **state)
{
    (void)state;
    static const char hostile[] = "results/</script><b>\xe2\x80\xae";
    json_t *a = summary_of("sweep"), *b = summary_of("sweep"), *doc = NULL;
    const json_t *docs[] = {a, b};
    struct dlb_compare_request request = {.a = {hostile, &docs[0], 1, -1},
                                          .b = {"results/after", &docs[1], 1, -1},
                                          .smallest_frac = 0.01,
                                          .between_frac = 0.01};
    struct dlb_err err;
    struct dlb_text page = {0};
    const struct dlb_report_opts opts = {0};
    assert_int_equal(dlb_compare_documents(&request, &doc, &err), DLB_OK);
    const json_t *all[] = {doc, a, b};
    dlb_report_by_format("html")->render_all(all, 3, &opts, &page);
    const char *verdict = strstr(page.data, "class=\"verdict");
    const char *changes = strstr(page.data, "id=\"r0-changes\"");
    const char *first = strstr(page.data, "<section id=\"r1\">");
    assert_true(verdict && changes && first && verdict < changes && changes < first);
    assert_has(page.data, "<section id=\"r2\">");
    assert_has(page.data, "id=\"r2-c0\"");
    assert_null(strstr(page.data, "<b>\xe2"));
    assert_int_equal(n_of(page.data, "</script>"), 5); /* three documents, and two scripts */
    json_t *back = document_in(page.data, 0);
    assert_true(json_is_object(json_object_get(back, "compare")));
    uint32_t n = n_of(changes, "<tr>") - n_of(strstr(changes, "</figure>"), "<tr>");
    size_t n_pairs = json_array_size(json_object_get(json_object_get(doc, "compare"), "cells"));
    assert_int_equal(n, n_pairs + 2); /* a head, and the mean of all */
    json_decref(back);
    dlb_text_free(&page);
    json_decref(doc);
    json_decref(a);
    json_decref(b);
}

/* Nothing was measured: a table, and no axes around nothing. More workers than a screen is wide: no
 * column is missing. */
static void test_none_and_many(void **state)
{
    (void)state;
    json_t *doc = summary_of("gap"), *gap = json_object_get(doc, "gap"), *rung;
    size_t i;
    json_array_foreach(json_object_get(gap, "rungs"), i, rung)
        json_object_set_new(json_object_get(rung, "seconds"), "median", json_null());
    char *page = rendered(doc, "html", 0);
    assert_has(page, "<figure id=\"r0-ladder\" class=\"wide\">");
    free(page);
    json_decref(doc);
    doc = summary_of("sweep");
    json_t *cells = json_object_get(doc, "cells"),
           *model = json_deep_copy(json_array_get(cells, 4));
    json_array_clear(cells);
    for (int n = 0; n < 64; n++) {
        json_t *cell = json_deep_copy(model);
        json_object_set_new(json_object_get(cell, "config"), "loader.num_workers", json_integer(n));
        json_array_append_new(cells, cell);
    }
    page = rendered(doc, "html", 0);
    assert_int_equal(n_of(strstr(page, "id=\"r0-idle\""), " workers</th>"), 64);
    free(page);
    json_decref(model);
    json_decref(doc);
}

static void test_hostile_names_are_inert(void **state)
{
    (void)state;
    static const char name[] = "</script><img src=x onerror=alert(1)>\"'\xe2\x80\xae\x07";
    json_t *doc = summary_of("sweep"), *axis = json_pack("[s, s]", name, "b"), *cell;
    size_t i;
    json_object_set_new(doc, "run_name", json_string(name));
    json_object_set_new(doc, "pytorch", json_string(name));
    json_object_set_new(json_object_get(doc, "device"), "name", json_string(name));
    json_object_set_new(json_object_get(doc, "environment"), "host", json_string(name));
    json_object_set_new(json_object_get(doc, "axes"), name, axis);
    json_array_foreach(json_object_get(doc, "cells"), i, cell)
        json_object_set_new(json_object_get(cell, "config"), name, json_string(i % 2 ? name : "b"));
    char *page = rendered(doc, "html", 0);
    uint32_t n_scripts = n_of(page, "<script");
    assert_int_equal(n_of(page, "</script>"), n_scripts);
    assert_int_equal(n_of(page, "<img"), 0);
    assert_int_equal(n_of(page, "\xe2\x80\xae"), 0);
    assert_int_equal(n_of(page, "\x07"), 0);
    assert_has(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;[U+202E]\\x07");
    free(page);
    json_decref(doc);
}

static void test_several_beside_each_other(void **state)
{
    (void)state;
    json_t *docs[3] = {summary_of("sweep"), summary_of("run"), summary_of("storage")};
    struct dlb_report_opts opts = {.folder = NULL};
    struct dlb_text page = {0};
    dlb_report_by_name("html")->render_all((const json_t *const *)docs, 3, &opts, &page);
    assert_has(page.data, "id=\"r3-beside\"");
    assert_has(page.data, "<h2>1: <bdi>s2</bdi></h2>");
    assert_has(page.data, "<h2>2: <bdi>s2</bdi></h2>"); /* of the same name */
    const char *storage = strstr(page.data, ">3: ");
    assert_has(storage, "<td class=\"text\">storage</td><td>-</td>");
    for (uint32_t i = 0; i < 3; i++) {
        json_t *back = document_in(page.data, i);
        assert_true(json_equal(docs[i], back));
        json_decref(back);
        json_decref(docs[i]);
    }
    assert_has(page.data, "<tr id=\"r1-c0\">");
    dlb_text_free(&page);
}

/* One track has no spans, another has a span of no name and one that ends too late. */
static json_t *timeline(const char *name)
{
    json_t *out =
        dlb_json_made(json_pack("{si, si, si, si, s[s, s, s]}", "block", 0, "first_step", 2,
                                "steps", 3, "span_ns", 1000, "names", "read", "idle_input", name));
    json_t *worker = json_pack("[[i, i, i, i], [i, i, i, i], [i, i, i, i]]", 0, 0, 300, 0, 0, 500,
                               100, 1, 2, 600, 50, 1);
    json_t *device =
        json_pack("[[i, i, i, n], [i, i, i, n], [i, i, i, n]]", 1, 0, 250, 9, 0, 1, 0, 990, 20);
    json_object_set_new(out, "tracks",
                        json_pack("[{ss, ss, so}, {ss, ss, s[]}, {ss, ss, so}]", "name", "worker 0",
                                  "kind", "worker", "lane", worker, "name", "worker 1", "kind",
                                  "worker", "lane", "name", name, "kind", "device", "lane",
                                  device));
    return out;
}

/* Lanes and their table have the sums of the spans, and nothing of what is none. */
static void test_timeline(void **state)
{
    (void)state;
    static const char mark[] = "id=\"r0-timeline\"", name[] = "</title><b>\xe2\x80\xae",
                      shown[] = "&lt;/title&gt;&lt;b&gt;[U+202E]";
    json_t *doc = summary_of("run");
    char *page = rendered(doc, "html", 0);
    assert_null(strstr(page, mark));
    free(page);
    json_object_set_new(doc, "timeline", timeline(name));
    page = rendered(doc, "html", 0);
    const char *figure = strstr(page, mark);
    assert_non_null(figure);
    assert_int_equal(n_of(figure, "<tr>") - n_of(strstr(figure, "</figure>"), "<tr>"), 4);
    assert_int_equal(n_of(page, "<div class=\"lane\">"), 2);
    assert_int_equal(n_of(page, "<path "), 3);
    assert_has(figure, "d=\"M0.0 0h3000.0v10h-3000.0zM5000.0 0h1000.0v10h-1000.0z\"");
    assert_has(figure, "<td data-v=\"2\">2</td><td data-v=\"400\">400 ns</td>"
                       "<td data-v=\"0.4\">40.0%</td>");
    assert_has(figure, "<td data-v=\"1\">1</td><td data-v=\"50\">50.0 ns</td>"
                       "<td data-v=\"0.05\">5.0%</td>");
    assert_has(figure, "<td data-v=\"1\">1</td><td data-v=\"250\">250 ns</td>"
                       "<td data-v=\"0.25\">25.0%</td>");
    assert_int_equal(n_of(page, "<b>"), 0);
    assert_int_equal(n_of(page, shown), 4); /* of a lane, of a shape, and both in rows */
    free(page);
    json_t *names = json_object_get(json_object_get(doc, "timeline"), "names");
    while (json_array_size(names) <=
           DLB_TRACE_MAX_NAMES) /* each would be looked for in each lane */
        json_array_append_new(names, json_string("another"));
    page = rendered(doc, "html", 0);
    assert_null(strstr(page, mark));
    free(page);
    json_decref(doc);
}

/* Figures a few percent off, as those of cells that were measured. A share stays one, a count stays
 * whole. */
static void vary(json_t *value, struct dlb_rng *rng)
{
    const char *key;
    json_t *one;
    size_t i;
    double factor = 0.95 + 0.1 * dlb_rng_unit(rng), old = json_number_value(value);
    json_object_foreach(value, key, one)
        vary(one, rng);
    json_array_foreach(value, i, one)
        vary(one, rng);
    if (json_is_real(value))
        (void)json_real_set(value, old <= 1 ? fmin(old * factor, 1) : old * factor);
    else if (json_is_integer(value))
        (void)json_integer_set(value, (json_int_t)llround(old * factor));
}

/* 500 cells that differ in every figure are a page of less than 3 MB. */
static void test_many_cells(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(500, 0, 0);
    json_t *doc = summary_of("sweep"), *cells = json_object_get(doc, "cells"),
           *workers = json_array();
    json_t *model = json_deep_copy(json_array_get(cells, 4));
    json_array_clear(cells);
    for (int i = 0; i < 500; i++) {
        json_t *cell = json_deep_copy(model);
        vary(cell, &rng);
        json_t *config = json_deep_copy(json_object_get(model, "config"));
        json_object_set_new(cell, "config", config);
        json_object_set_new(cell, "index", json_integer(i));
        json_object_set_new(config, "loader.num_workers", json_integer(i % 20));
        json_object_set_new(config, "loader.prefetch_factor", json_integer(1 + i / 20));
        json_array_append_new(cells, cell);
    }
    for (int i = 0; i < 25; i++)
        json_array_append_new(workers, json_integer(i));
    json_object_set_new(json_object_get(doc, "axes"), "loader.num_workers", workers);
    char *page = rendered(doc, "html", 0);
    assert_in_range(strlen(page), 100000, 3000000);
    assert_int_equal(n_of(page, "<tr id=\"r0-c"), 500);
    free(page);
    json_decref(model);
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holds_the_document),
        cmocka_unit_test(test_loads_nothing),
        cmocka_unit_test(test_every_cell_has_a_row),
        cmocka_unit_test(test_cells_that_are_missing),
        cmocka_unit_test(test_charts_have_tables),
        cmocka_unit_test(test_values_that_are_cut_keep_apart),
        cmocka_unit_test(test_demand_of_cells_that_differ),
        cmocka_unit_test(test_stages_that_are_missing),
        cmocka_unit_test(test_loop_of_a_cell),
        cmocka_unit_test(test_comparison),
        cmocka_unit_test(test_none_and_many),
        cmocka_unit_test(test_hostile_names_are_inert),
        cmocka_unit_test(test_several_beside_each_other),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_many_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
