/* Odd documents that pass the check: control characters, long texts, and figures that are missing,
 * too large, or of one repetition. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/answer.h"
#include "reports/findings.h"
#include "reports/sheet.h"
#include "tests/support/rendered.h"

#include <math.h>

static const char *const plain_formats[] = {"terminal", "text", "md"};
#define N_FORMATS (sizeof(plain_formats) / sizeof(plain_formats[0]))

static json_t *first_cell(const json_t *doc)
{
    return json_array_get(json_object_get(doc, "cells"), 0);
}

/* ' for ". */
static void set(json_t *object, const char *key, const char *json)
{
    char *text = dlb_mem_text(json);
    for (char *at = text; *at; at++)
        *at = (char)(*at == '\'' ? '"' : *at);
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    json_object_set_new(object, key, value);
    free(text);
}

static void set_letters(json_t *object, const char *key, const char *before, size_t n)
{
    char *text = dlb_mem_array(strlen(before) + n + 5, 1);
    (void)sprintf(text, "%s", before);
    memset(text + strlen(before), 'x', n);
    (void)strcpy(text + strlen(before) + n, " end");
    json_object_set_new(object, key, json_string(text));
    free(text);
}

static bool has_word(const char *text, const char *word)
{
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) {
        char before = at > text ? at[-1] : ' ', after = at[strlen(word)];
        bool inside = (before >= 'a' && before <= 'z') || (after >= 'a' && after <= 'z');
        if (!inside)
            return true;
    }
    return false;
}

static void assert_no_odd_words(const char *text)
{
    if (has_word(text, "nan") || has_word(text, "inf"))
        fail_msg("%s", text);
}

static void assert_no_odd_figures(const json_t *doc)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        char *text = rendered(doc, plain_formats[i], 0);
        assert_no_odd_words(text);
        free(text);
    }
}

#define SIDES "'a': {'name': 'x'}, 'b': {'name': 'y'}, 'figure': 'samples_per_s', 'cells': [], "

static json_t *compared(const char *members)
{
    char text[1500];
    json_t *doc = json_object();
    (void)snprintf(text, sizeof(text), "{" SIDES "%s}", members);
    set(doc, "compare", text);
    return doc;
}

static void test_a_kind_is_escaped(void **state)
{
    (void)state;
    json_t *doc = compared("'overall': {}, 'between': {}, 'differences': [{'kind': "
                           "'\\u001b[31mEVIL\\u009b', 'key': 'k', 'may_explain': true}, "
                           "{'kind': 'machine', 'key': 'k', 'may_explain': true}]");
    char *text = rendered(doc, "terminal", 100);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_has(text, "\n  \\x1b[31mEVIL\\xc2\\x9b  k: ");
    assert_has(text, "\n  machine        k: ");
    free(text);
    json_decref(doc);
}

static void test_long_text_is_not_cut(void **state)
{
    (void)state;
    struct dlb_text text = {0};
    char *words = dlb_mem_array(5001, 1);
    memset(words, 'x', 5000);
    words[5000] = '\0';
    dlb_text_printf(&text, "%s|", "a");
    dlb_text_printf(&text, "%s%d", words, 12);
    assert_int_equal(text.len_bytes, 2 + 5000 + 2);
    assert_string_equal(text.data + 5000, "xx12");
    free(words);
    dlb_text_free(&text);
}

static void test_the_next_command_is_whole(void **state)
{
    (void)state;
    json_t *doc = summary_of("run");
    json_object_set_new(json_object_get(doc, "verdict"), "class", json_string("INPUT-BOUND"));
    set_letters(doc, "arguments", " --dataset.path /", 3000);
    for (size_t i = 1; i < N_FORMATS; i++) {
        char *text = rendered(doc, plain_formats[i], 4000);
        assert_has(text, "xx end\n");
        free(text);
    }
    json_decref(doc);
}

static void test_a_folder_is_quoted(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"x$(id) y", "dlbench report 'x$(id) y' --verbose"},
        {"results/x", "dlbench report results/x --verbose"},
        {"it's", "dlbench report 'it'\\''s' --verbose"},
    };
    json_t *doc = summary_of("sweep");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct dlb_report_opts opts = {.n_columns = 100, .folder = names[i][0]};
        struct dlb_text text = {0};
        dlb_report_by_name("terminal")->render(doc, &opts, &text);
        assert_has(text.data, names[i][1]);
        dlb_text_free(&text);
    }
    json_decref(doc);
}

/* One repetition has no interval. */
static void test_gauges_of_an_interval(void **state)
{
    (void)state;
    static const char *const intervals[] = {"none", "min-max"};
    for (int i = 0; i < 2; i++) {
        json_t *doc = summary_of("run");
        json_object_set_new(json_object_get(first_cell(doc), "samples_per_s"), "interval",
                            json_string(intervals[i]));
        char *text = rendered(doc, "prometheus", 0);
        assert_has(text, "\ndlbench_samples_per_second{");
        assert_int_equal(strstr(text, "\ndlbench_samples_per_second_low{") != NULL, i);
        assert_int_equal(strstr(text, "\ndlbench_samples_per_second_high{") != NULL, i);
        free(text);
        json_decref(doc);
    }
}

static void test_share_of_a_baseline(void **state)
{
    (void)state;
    static const char *const intervals[] = {"none", "min-max"};
    for (int i = 0; i < 2; i++) {
        json_t *doc = summary_of("storage");
        json_t *baseline = json_object_get(json_object_get(doc, "storage"), "baseline");
        json_object_set_new(json_object_get(baseline, "share"), "interval",
                            json_string(intervals[i]));
        char *text = rendered(doc, "text", 0);
        assert_has(text, "0.90 of that");
        assert_int_equal(strstr(text, "(0.80 to 0.95)") != NULL, i);
        free(text);
        json_decref(doc);
    }
}

static void test_missing_figures_of_a_comparison(void **state)
{
    (void)state;
    static const char *const members[] = {
        "'overall': {}, 'between': {}, 'differences': []",
        "'overall': {'change_frac': null, 'low': 1, 'high': null}, 'smallest_frac': null, "
        "'intervals': 3, 'between': {'by': 'allowance', 'used_frac': null}, 'differences': []",
        "'overall': {'change_frac': 1e308, 'low': 1e308, 'high': -1e308, 'detectable_frac': "
        "1e308}, "
        "'smallest_frac': 1e308, 'level': 1e308, 'intervals': 1e308, 'between': {'used_frac': "
        "1e308, 'disturbed_frac': 1e308}, 'differences': []",
    };
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *doc = compared(members[i]);
        assert_no_odd_figures(doc);
        json_decref(doc);
    }
}

/* 100 times the fraction is no number. */
static void test_too_large_changes(void **state)
{
    (void)state;
    static const char *const formats[] = {"terminal", "text", "md", "html"};
    json_t *doc = compared("'overall': {'change_frac': 1e308, 'low': -1e308, 'high': 1e308, "
                           "'detectable_frac': 1e308}, 'smallest_frac': 0.1, 'differences': []");
    set(json_object_get(doc, "compare"), "cells",
        "[{'what': 'x', 'change_frac': 1e308, 'low': -1e308, 'high': 1e308}, "
        "{'what': 'y', 'change_frac': -0.123, 'low': 0.004, 'high': 0.25}]");
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char *text = rendered(doc, formats[i], 0);
        assert_null(strstr(text, "inf%"));
        assert_has(text, "-12.3%");
        assert_has(text, "+25.0%");
        free(text);
    }
    json_decref(doc);
}

static void test_too_large_shares_of_accelerators(void **state)
{
    (void)state;
    struct dlb_text text = {0};
    json_t *doc = json_object();
    set(doc, "cells",
        "[{'accelerators': {'count': 2}, 'au': {'nominal': 1e308, 'measured': 0.5}}]");
    set(doc, "best_cell", "0");
    dlb_findings_accelerators(doc, 0, &text);
    assert_no_odd_words(text.data);
    assert_has(text.data, " 50.0% ");
    dlb_text_free(&text);
    json_decref(doc);
}

static void test_missing_figures_of_ranks(void **state)
{
    (void)state;
    static const char *const stragglers[] = {
        "{}", "{'rank': 1, 'class': 'X', 'cost_ms': 1}",
        "{'rank': 1, 'cost_ms': 1e308, 'score': 1e308, 'part_ms': 1, 'median_part_ms': 1e308}"};
    json_t *doc = summary_of("run");
    set(doc, "ranks", "[{}, {'rank': 1, 'gpu_idle_frac': 1e308, 'done_s': 1e308}]");
    set(doc, "ranks_samples_per_s", "{}");
    for (size_t i = 0; i < sizeof(stragglers) / sizeof(stragglers[0]); i++) {
        set(doc, "straggler", stragglers[i]);
        set(doc, "barrier_us", i ? "{'p50': 1e308, 'p99': 1e308}" : "{'p50': 3}");
        assert_no_odd_figures(doc);
    }
    json_decref(doc);
}

static void test_missing_figures_of_a_storage(void **state)
{
    (void)state;
    static const char *const keys[] = {"gate", "headroom_frac"}, *const values[] = {"null",
                                                                                    "1e308"};
    for (int i = 0; i < 2; i++) {
        json_t *doc = summary_of("storage"), *storage = json_object_get(doc, "storage");
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            set(storage, keys[k], values[i]);
        set(storage, "curve", i ? "[{'accelerators': 1e308, 'au': 1e308}]" : "[{}]");
        assert_no_odd_figures(doc);
        json_decref(doc);
    }
}

static void test_too_large_figures_of_a_result(void **state)
{
    (void)state;
    static const char *const fracs[] = {"1e308", "-1e308"};
    for (size_t i = 0; i < sizeof(fracs) / sizeof(fracs[0]); i++) {
        json_t *doc = summary_of("run"), *cell = first_cell(doc);
        struct dlb_text text = {0};
        char idle[80], gpu[120], title[240];
        (void)snprintf(idle, sizeof(idle), "{'median': %s}", fracs[i]);
        (void)snprintf(gpu, sizeof(gpu), "{'nvml': {'utilization_frac': %s, 'pcie_gen': %s}}",
                       fracs[i], fracs[i]);
        set(cell, "gpu_idle_frac", idle);
        set(cell, "skipped_frac", fracs[i]);
        set(doc, "noise_floor_frac", fracs[i]);
        set(json_object_get(doc, "device"), "gpu", gpu);
        set(json_object_get(doc, "dataset"), "samples", "null");
        dlb_answer_title(doc, title, sizeof(title));
        assert_no_odd_words(title);
        dlb_findings_head(doc, 0, &text);
        assert_has(text.data, "- samples");
        dlb_findings_noise(doc, &text);
        dlb_answer_demand(doc, 0, &text);
        assert_no_odd_words(text.data);
        dlb_text_free(&text);
        json_decref(doc);
    }
}

static void test_percentages(void **state)
{
    (void)state;
    static const struct {
        enum dlb_percent how;
        double frac;
        const char *text;
    } cases[] = {
        {DLB_PERCENT_BARE, 0.1234, "12.3"},     {DLB_PERCENT_TENTHS, 0.1234, "12.3%"},
        {DLB_PERCENT_WHOLE, 0.1234, "12%"},     {DLB_PERCENT_SHORT, 0.001234, "0.123%"},
        {DLB_PERCENT_CHANGE, 0.1234, "+12.3%"}, {DLB_PERCENT_CHANGE, -0.1234, "-12.3%"},
        {DLB_PERCENT_CHANGE, -0.0, "-0.0%"},    {DLB_PERCENT_CHANGE, 0, "+0.0%"},
        {DLB_PERCENT_TENTHS, 1e300, "1e+302%"}, {DLB_PERCENT_CHANGE, -1e300, "-1e+302%"},
        {DLB_PERCENT_WHOLE, 1e308, "-"},        {DLB_PERCENT_CHANGE, -1e308, "-"},
        {DLB_PERCENT_BARE, (double)NAN, "-"},
    };
    char text[24];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(dlb_text_percent(cases[i].how, cases[i].frac, text, sizeof(text)),
                            cases[i].text);
    for (int sign = -1; sign < 2; sign += 2)
        assert_string_equal(dlb_unit_text(DLB_UNIT_FRAC, sign * 1e308, text, sizeof(text)), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kind_is_escaped),
        cmocka_unit_test(test_long_text_is_not_cut),
        cmocka_unit_test(test_the_next_command_is_whole),
        cmocka_unit_test(test_a_folder_is_quoted),
        cmocka_unit_test(test_gauges_of_an_interval),
        cmocka_unit_test(test_share_of_a_baseline),
        cmocka_unit_test(test_missing_figures_of_a_comparison),
        cmocka_unit_test(test_too_large_changes),
        cmocka_unit_test(test_too_large_shares_of_accelerators),
        cmocka_unit_test(test_missing_figures_of_ranks),
        cmocka_unit_test(test_missing_figures_of_a_storage),
        cmocka_unit_test(test_percentages),
        cmocka_unit_test(test_too_large_figures_of_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
