/* CSV, Markdown and Prometheus text of results. */
#include "core/base/json.h"
#include "reports/ranked.h"
#include "reports/supply.h"
#include "tests/support/rendered.h"

#include <math.h>

static const char *line_of(const char *text, uint32_t number)
{
    for (uint32_t i = 0; i < number && text; i++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text;
}

static uint32_t n_lines(const char *text)
{
    uint32_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static uint32_t n_of(const char *text, const char *words)
{
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        n++;
    return n;
}

/* The last field of a line. */
static const char *last_field(const char *line)
{
    const char *at = line;
    for (; *line != '\n'; line++)
        at = *line == ',' ? line + 1 : at;
    return at;
}

/* A row for each repetition of each cell, with the figures of the document. */
static void test_csv_has_a_row_a_repetition(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep");
    const json_t *cell, *values;
    char *text = rendered(doc, "csv", 0);
    size_t i, k;
    uint32_t row = 1;
    assert_memory_equal(text,
                        "run_name,cell,pipeline,loader.num_workers,loader.prefetch_factor,"
                        "repetition,samples_per_s\n",
                        strcspn(text, "\n") + 1);
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const json_t *config = json_object_get(cell, "config");
        values = json_object_get(json_object_get(cell, "samples_per_s"), "values");
        for (k = 0; k < json_array_size(values); k++, row++) {
            char workers[40], wanted[80];
            const char *line = line_of(text, row);
            double rate = atof(last_field(line));
            dlb_text_value(json_object_get(config, "loader.num_workers"), workers, sizeof(workers));
            (void)snprintf(wanted, sizeof(wanted), "s2,%zu,,%s,", i, workers);
            assert_memory_equal(line, wanted, strlen(wanted));
            (void)snprintf(wanted, sizeof(wanted), ",%zu,", k);
            assert_memory_equal(last_field(line) - strlen(wanted), wanted, strlen(wanted));
            assert_true(fabs(rate - json_number_value(json_array_get(values, k))) < 1e-6 * rate);
        }
    }
    assert_int_equal(n_lines(text), row);
    free(text);
    json_decref(doc);
}

static void test_csv_of_hostile_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *field;
    } cases[] = {{"a,b", "\"a,b\""},
                 {"a\"b", "\"a\"\"b\""},
                 {"=HYPERLINK(1)", "'=HYPERLINK(1)"},
                 {"-1+2, x", "\"'-1+2, x\""},
                 {"a;=1+2", "\"a;=1+2\""},
                 {"a\nb\r", "a\\x0ab\\x0d"},
                 {"\xe2\x80\xae"
                  "abc",
                  "[U+202E]abc"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *doc = summary_of("run");
        json_object_set_new(doc, "run_name", json_string(cases[i].name));
        char *text = rendered(doc, "csv", 0);
        const char *line = line_of(text, 1);
        assert_memory_equal(line, cases[i].field, strlen(cases[i].field));
        assert_int_equal(line[strlen(cases[i].field)], ',');
        free(text);
        json_decref(doc);
    }
}

/* Not measured is an empty field, and no row is missing for it. */
static void test_csv_of_what_was_not_measured(void **state)
{
    (void)state;
    json_t *doc = summary_of("run");
    json_t *cell = json_array_get(json_object_get(doc, "cells"), 0);
    json_object_set_new(cell, "samples_per_s", json_pack("{s[fn]}", "values", 10.5));
    char *text = rendered(doc, "csv", 0);
    assert_int_equal(n_lines(text), 3);
    assert_has(text, ",0,10.5\n");
    assert_has(text, ",1,\n");
    free(text);
    json_decref(doc);
}

static void test_csv_of_an_older_result(void **state)
{
    (void)state;
    char path[4096];
    struct dlb_err err;
    json_t *doc = NULL;
    corpus_path("older", path, sizeof(path));
    assert_int_not_equal(dlb_summary_load(path, &doc, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_SUMMARY_VERSION);
    assert_int_equal(dlb_summary_load_older(path, &doc, &err), DLB_OK);
    char *text = rendered(doc, "csv", 0);
    assert_in_range(n_lines(text), 6, 40);
    assert_has(text, "s2,4,,2,2,0,");
    free(text);
    json_object_set_new(doc, "schema_version", json_integer(DLB_SUMMARY_VERSION + 1));
    json_decref(doc);
}

/* Whatever a document of an earlier version holds. */
static void test_csv_of_odd_documents(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "{\"cells\": 1}",
        "{\"cells\": [1, null, {}], \"axes\": []}",
        "{\"gap\": {\"rungs\": [{}]}}",
        "{\"cells\": [{\"samples_per_s\": {\"values\": 3}}], \"axes\": {\"a\": null}}",
        "{\"watch\": {\"epochs\": [[], {\"number\": {}}]}}",
        "{\"cells\": [{\"samples_per_s\": {\"values\": [[1], \"x\"]}, \"index\": {}}]}",
        "{\"run_name\": [1, 2], \"cells\": [{\"samples_per_s\": {\"values\": [1]}}]}"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        json_t *doc = json_loads(odd[i], 0, NULL);
        assert_non_null(doc);
        char *text = rendered(doc, "csv", 0);
        assert_non_null(text);
        free(text);
        json_decref(doc);
    }
}

static void test_csv_of_several(void **state)
{
    (void)state;
    json_t *sweep = summary_of("sweep"), *gap = summary_of("gap");
    struct dlb_text text = {0};
    struct dlb_report_opts opts = {.folder = NULL};
    dlb_report_by_name("csv")->render_all((const json_t *const[2]){sweep, gap}, 2, &opts, &text);
    char *one = rendered(sweep, "csv", 0), *two = rendered(gap, "csv", 0);
    assert_int_equal(n_lines(text.data), n_lines(one) + n_lines(two) - 1);
    assert_has(text.data, ",samples_per_s,seconds\n");
    free(one);
    free(two);
    dlb_text_free(&text);
    json_decref(sweep);
    json_decref(gap);
}

static void test_markdown(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep");
    json_object_set_new(doc, "run_name", json_string("a|b <script>\n# c"));
    json_object_set_new(json_array_get(json_object_get(doc, "cells"), 1), "reason",
                        json_string("x | y\n| z"));
    char *text = rendered(doc, "md", 0);
    assert_has(text, "## a\\|b &lt;script\\>\\x0a# c (dlbench sweep)\n");
    assert_has(text, "\n```python\nDataLoader(dataset, batch_size=64");
    assert_has(text, "x \\| y\\x0a\\| z");
    assert_int_equal(n_of(text, "<script"), 0);
    /* A table of cells: a head, a rule, a row for each cell, all with as many columns. */
    const char *at = strstr(text, "\n### Every cell\n\n");
    assert_non_null(at);
    at = line_of(at, 3);
    uint32_t n_rows = 0, n_bars = 0;
    for (; *at == '|'; at = line_of(at, 1), n_rows++) {
        uint32_t n = 0;
        for (size_t i = 0; at[i] != '\n'; i++)
            n += at[i] == '|' && (i == 0 || at[i - 1] != '\\');
        assert_true(n_bars == 0 || n == n_bars);
        n_bars = n;
    }
    assert_int_equal(n_rows, 2 + json_array_size(json_object_get(doc, "cells")));
    free(text);
    json_decref(doc);
}

static void test_markdown_of_all_kinds(void **state)
{
    (void)state;
    static const char *const names[] = {"run",    "storage", "gap",
                                        "failed", "hostile", "gap_hostile"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *doc = summary_of(names[i]);
        char *text = rendered(doc, "md", 0);
        assert_has(text, "## ");
        assert_int_equal(n_of(text, "```") % 2, 0);
        free(text);
        json_decref(doc);
    }
}

/* A line of a text stays a paragraph, whatever it begins with. */
static void test_markdown_lines(void **state)
{
    (void)state;
    json_t *doc = summary_of("run");
    json_object_set_new(json_object_get(doc, "verdict"), "text",
                        json_string("# a\n--- b\n12. c\n+ d\n=== e\n2.5 f\n  - g"));
    char *text = rendered(doc, "md", 0);
    assert_has(text, "\n\n\\# a\n\n\\--- b\n\n12\\. c\n\n\\+ d\n\n\\=== e\n\n2.5 f\n\n\\- g\n\n");
    free(text);
    json_decref(doc);
}

/* Every line is a comment or a sample; each metric has one TYPE, and its samples stand together. */
static void test_prometheus(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep");
    char wanted[160];
    json_object_set_new(doc, "run_name", json_string("a\"b\\c\nd"));
    char *text = rendered(doc, "prometheus", 0);
    const json_t *cell = json_array_get(json_object_get(doc, "cells"), 4);
    (void)snprintf(
        wanted, sizeof(wanted),
        "dlbench_samples_per_second{run_name=\"a\\\"b\\\\c\\\\x0ad\",command=\"sweep\","
        "cell=\"4\",pipeline=\"\",loader_num_workers=\"2\",loader_prefetch_factor=\"2\"} "
        "%.10g\n",
        dlb_json_number(json_object_get(cell, "samples_per_s"), "median"));
    assert_has(text, wanted);
    assert_has(text, "dlbench_verdict_info{");
    assert_has(text, "class=\"INPUT-BOUND\"");
    for (const char *at = text; *at; at = line_of(at, 1)) {
        char name[80];
        assert_true(strncmp(at, "# HELP dlbench_", 15) == 0 ||
                    strncmp(at, "# TYPE dlbench_", 15) == 0 || strncmp(at, "dlbench_", 8) == 0);
        if (strncmp(at, "# TYPE ", 7) != 0)
            continue;
        assert_int_equal(sscanf(at, "# TYPE %70s gauge", name), 1);
        strcat(name, " gauge");
        assert_int_equal(n_of(text, name), 1);
    }
    free(text);
    json_decref(doc);
}

/* Values of an axis that begin and end alike keep apart. */
static void test_prometheus_labels(void **state)
{
    (void)state;
    static const char *const keys[] = {"",         "__name__",    "cell",
                                       "9.x",      "run.name",    "loader.num-workers",
                                       "a\"b.\nc", "dataset.path"};
    static const char path[] = "/mnt/nfs-a/projects/vision/imagenet/train/shards";
    json_t *doc = summary_of("sweep"), *axes = json_object_get(doc, "axes");
    json_t *config = json_object_get(json_array_get(json_object_get(doc, "cells"), 0), "config");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_object_set_new(axes, keys[i], json_pack("[s, s]", path, "b"));
        json_object_set_new(config, keys[i], json_string(path));
    }
    char *text = rendered(doc, "prometheus", 0);
    assert_has(text, ",dataset_path=\"/mnt/nfs-a/projects/vision/imagenet/train/shards\"");
    assert_has(text, "a_b__c=\"/mnt");
    static const char *const wrong[] = {",=\"", "__name__=", "9_x=", "loader_num_workers=\"/mnt"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_null(strstr(text, wrong[i]));
    const char *line = strstr(text, "\ndlbench_samples_per_second{"), *end = strchr(line + 1, '\n');
    const char *name = strstr(line, "run_name="), *cell = strstr(line, "cell=");
    assert_true(name < end && strstr(name + 1, "run_name=") > end);
    assert_true(cell < end && strstr(cell + 1, "cell=") > end);
    free(text);
    json_decref(doc);
}

/* Results of one name: no two samples have the same labels. */
static void test_prometheus_of_namesakes(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep"), *gap = summary_of("gap");
    struct dlb_text text = {0};
    struct dlb_report_opts opts = {.folder = NULL};
    json_object_set_new(gap, "run_name", json_string(dlb_json_text(doc, "run_name")));
    dlb_report_by_name("prometheus")
        ->render_all((const json_t *const[4]){doc, gap, doc, gap}, 4, &opts, &text);
    for (const char *at = text.data; *at; at = line_of(at, 1)) {
        char sample[1024];
        size_t n = strcspn(at, "}\n");
        if (*at == '#')
            continue;
        assert_in_range(n, 1, sizeof(sample) - 3);
        (void)snprintf(sample, sizeof(sample), "\n%.*s}", (int)n, at);
        assert_int_equal(n_of(text.data, sample), 1);
    }
    assert_has(text.data, "result=\"4\"");
    dlb_text_free(&text);
    json_decref(doc);
    json_decref(gap);
}

static void test_prometheus_leaves_out_what_was_not_measured(void **state)
{
    (void)state;
    json_t *doc = summary_of("gap");
    char *text = rendered(doc, "prometheus", 0);
    assert_int_equal(n_of(text, "nan"), 0);
    assert_int_equal(n_of(text, "\ndlbench_samples_per_second{"), 0);
    assert_in_range(n_of(text, "\ndlbench_gap_epoch_seconds{"), 3, 100);
    free(text);
    json_object_set_new(json_object_get(doc, "environment"), "timestamp",
                        json_string("2026-01-02T03:04:05Z"));
    text = rendered(doc, "prometheus", 0);
    assert_has(text, "\ndlbench_result_timestamp_seconds{run_name=");
    assert_has(text, "} 1767323045\n");
    free(text);
    json_object_set_new(json_object_get(doc, "environment"), "timestamp",
                        json_string("2026-01-02T03:04:05+0100"));
    text = rendered(doc, "prometheus", 0);
    assert_has(text, "} 1767319445\n");
    free(text);
    json_decref(doc);
}

/* A storage's cells differ in their work: none of them stands for it, as on its page. */
static void test_prometheus_of_a_storage(void **state)
{
    (void)state;
    json_t *doc = summary_of("storage");
    assert_true(dlb_supply_of(doc).gives > 0);
    char *text = rendered(doc, "prometheus", 0);
    assert_has(text, "\ndlbench_storage_accelerators{");
    assert_null(strstr(text, "\ndlbench_demand_samples_per_second{"));
    assert_null(strstr(text, "\ndlbench_supply_samples_per_second{"));
    free(text);
    json_decref(doc);
}

/* What PyTorch gives stands beside what the hardware could, and what data always ready would. */
static void test_supply(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep"), *cells = json_object_get(doc, "cells");
    size_t i;
    json_t *cell;
    json_array_foreach(cells, i, cell)
        json_object_set_new(cell, "pipeline", json_string(i == 3 ? "pytorch" : "hardware"));
    json_t *offered = json_array_get(cells, 3);
    json_object_set_new(json_object_get(offered, "verdict"), "gain",
                        json_pack("{sf}", "median", 2.0));
    struct dlb_supply supply = dlb_supply_of(doc);
    double gives = dlb_json_number(json_object_get(offered, dlb_ranked_rate(doc)), "median");
    assert_true(supply.gives == gives && supply.ready == 2 * gives);
    assert_true(supply.hardware > 0);
    json_object_set_new(doc, "recommendation_detail", json_pack("{s{si}}", "hardware", "cell", 4));
    double other =
        dlb_json_number(json_object_get(json_array_get(cells, 4), dlb_ranked_rate(doc)), "median");
    assert_true(dlb_supply_of(doc).hardware == other);
    /* Without a winner only cells of the same work count. */
    json_object_del(doc, "recommendation_detail");
    json_array_foreach(cells, i, cell)
        json_object_set_new(cell, "accelerators",
                            json_pack("{si, s[{si, si}]}", "count", 1, "each", "samples",
                                      i == 0 ? 640 : 6400, "steps", 10));
    json_object_set_new(
        offered, "accelerators",
        json_pack("{si, s[{si, si}]}", "count", 1, "each", "samples", 640, "steps", 10));
    other =
        dlb_json_number(json_object_get(json_array_get(cells, 0), dlb_ranked_rate(doc)), "median");
    assert_true(dlb_supply_of(doc).hardware == other);
    json_object_set_new(offered, "pipeline", json_string("hardware"));
    assert_true(isnan(dlb_supply_of(doc).hardware));
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_has_a_row_a_repetition),
        cmocka_unit_test(test_csv_of_hostile_names),
        cmocka_unit_test(test_csv_of_what_was_not_measured),
        cmocka_unit_test(test_csv_of_an_older_result),
        cmocka_unit_test(test_csv_of_odd_documents),
        cmocka_unit_test(test_csv_of_several),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_markdown_of_all_kinds),
        cmocka_unit_test(test_markdown_lines),
        cmocka_unit_test(test_prometheus),
        cmocka_unit_test(test_prometheus_labels),
        cmocka_unit_test(test_prometheus_of_namesakes),
        cmocka_unit_test(test_prometheus_leaves_out_what_was_not_measured),
        cmocka_unit_test(test_prometheus_of_a_storage),
        cmocka_unit_test(test_supply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
