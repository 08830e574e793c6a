/* Rules of --fail-on: how they are read, and what they come to. */
#include "core/base/json.h"
#include "scenarios/rules/judge.h"
#include "scenarios/rules/rule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_rule rule_of(const char *text)
{
    struct dlb_rule rule;
    struct dlb_err err;
    if (dlb_rule_parse(text, &rule, &err))
        fail_msg("%s: %s", text, err.what);
    assert_string_equal(rule.text, text);
    return rule;
}

static void test_reads(void **state)
{
    (void)state;
    static const struct {
        const char *text, *figure;
        bool above;
        double limit;
    } rows[] = {
        {"idle>10%", "idle", true, 0.1},
        {" idle\t> 0.25 ", "idle", true, 0.25},
        {"input_wait>0%", "input_wait", true, 0},
        {"samples_per_s<1700", "samples_per_s", false, 1700},
        {"samples_per_s < 1.7e3", "samples_per_s", false, 1700},
        {"epoch_samples_per_s>5", "epoch_samples_per_s", true, 5},
        {"accelerators<8", "accelerators", false, 8},
        {"slower>2%", "slower", true, 0.02},
        {"faster>100%", "faster", true, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlb_rule rule = rule_of(rows[i].text);
        assert_string_equal(rule.figure->name, rows[i].figure);
        assert_int_equal(rule.above, rows[i].above);
        assert_true(fabs(rule.limit - rows[i].limit) < 1e-12);
    }
    struct dlb_rule alone = rule_of("slower");
    assert_true(alone.above && isnan(alone.limit));
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum dlb_code code;
        const char *at;
    } rows[] = {
        {"", DLB_ERR_RULE_SYNTAX, "character 1:"},
        {">10%", DLB_ERR_RULE_SYNTAX, "character 1:"},
        {"idle", DLB_ERR_RULE_SYNTAX, "character 5:"},
        {"idle=10%", DLB_ERR_RULE_SYNTAX, "character 5:"},
        {"idle>=10%", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>%", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>10%%", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>10", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>nan", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>0x1", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>1e999", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"idle>10% or", DLB_ERR_RULE_SYNTAX, "character 6:"},
        {"samples_per_s<10%", DLB_ERR_RULE_SYNTAX, "character 15:"},
        {"samples_per_s<-1", DLB_ERR_RULE_SYNTAX, "character 15:"},
        {"slower<2%", DLB_ERR_RULE_SYNTAX, "character 7:"},
        {"idel>10%", DLB_ERR_RULE_FIGURE, "\"idel\""},
        {"Idle>10%", DLB_ERR_RULE_SYNTAX, "character 1:"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlb_rule rule;
        struct dlb_err err;
        assert_int_equal(dlb_rule_parse(rows[i].text, &rule, &err), DLB_E_CONFIG);
        if (err.code != rows[i].code || !strstr(err.what, rows[i].at))
            fail_msg("%s: %s, %s", rows[i].text, dlb_code_name(err.code), err.what);
    }
    char longer[300];
    struct dlb_rule rule;
    struct dlb_err err;
    memset(longer, ' ', sizeof(longer));
    (void)snprintf(longer + 280, 20, "idle>10%%");
    assert_int_equal(dlb_rule_parse(longer, &rule, &err), DLB_E_CONFIG);
}

static json_t *doc_of(const char *text)
{
    json_error_t why;
    json_t *doc = json_loads(text, 0, &why);
    if (!doc)
        fail_msg("%s", why.text);
    return doc;
}

/* The outcome of one rule. */
static const char *outcome(const char *rule, const json_t *doc, const json_t *of, size_t place)
{
    static char kept[16];
    struct dlb_rule parsed = rule_of(rule);
    struct dlb_err err;
    json_t *out;
    if (dlb_rules_judge(&parsed, 1, doc, of, &out, &err))
        return dlb_code_name(err.code);
    (void)snprintf(kept, sizeof(kept), "%s", dlb_json_text(json_array_get(out, place), "outcome"));
    json_decref(out);
    return kept;
}

/* Shares of 0.10 to 0.14: their mean is 0.12, its interval 0.12 +- 0.0497. */
static const char run_text[] =
    "{\"command\": \"run\", \"best_cell\": 0, \"recommended_cell\": null, \"cells\": [{\"status\": "
    "\"ok\","
    "\"gpu_idle_frac\": {\"median\": 0.12, \"values\": [0.10, 0.12, 0.14]},"
    "\"input_wait_frac\": {\"median\": 0.5, \"values\": [0.5, 0.5]},"
    "\"samples_per_s\": {\"median\": 100, \"values\": [99, 100, null, 101]}}]}";

static void test_one_side_or_unclear(void **state)
{
    (void)state;
    json_t *doc = doc_of(run_text);
    assert_string_equal(outcome("idle>7%", doc, NULL, 0), "failed");
    assert_string_equal(outcome("idle>8%", doc, NULL, 0), "unclear");
    assert_string_equal(outcome("idle>16%", doc, NULL, 0), "unclear");
    assert_string_equal(outcome("idle>17%", doc, NULL, 0), "passed");
    assert_string_equal(outcome("idle<17%", doc, NULL, 0), "failed");
    assert_string_equal(outcome("idle<7%", doc, NULL, 0), "passed");
    assert_string_equal(outcome("input_wait>10%", doc, NULL, 0), "unclear"); /* two repetitions */
    assert_string_equal(outcome("samples_per_s<103", doc, NULL, 0), "failed");
    assert_string_equal(outcome("samples_per_s<102", doc, NULL, 0), "unclear");
    assert_string_equal(outcome("samples_per_s<97", doc, NULL, 0), "passed");
    assert_string_equal(outcome("slower", doc, NULL, 0), "E_RULE_FIGURE");
    assert_string_equal(outcome("accelerators<1", doc, NULL, 0), "E_RULE_FIGURE");
    json_decref(doc);
}

/* Of a sweep it is the recommended cell, else the best. */
static void test_which_cell(void **state)
{
    (void)state;
    json_t *doc = doc_of(run_text);
    json_t *other = doc_of("{\"status\": \"ok\", \"gpu_idle_frac\": {\"values\": [0, 0, 0]}}");
    assert_int_equal(json_array_append_new(json_object_get(doc, "cells"), other), 0);
    assert_string_equal(outcome("idle>5%", doc, NULL, 0), "failed");
    dlb_json_put(doc, "recommended_cell", json_integer(1));
    assert_string_equal(outcome("idle>5%", doc, NULL, 0), "passed");
    dlb_json_put(doc, "best_cell", json_null());
    dlb_json_put(doc, "recommended_cell", json_null());
    assert_string_equal(outcome("idle>5%", doc, NULL, 0), "unclear");
    json_decref(doc);
}

static void test_storage(void **state)
{
    (void)state;
    json_t *doc = doc_of("{\"command\": \"storage\", \"cells\": [], \"storage\": "
                         "{\"max_accelerators\": 10, \"low\": 8, \"high\": 12, \"curve\": []}}");
    assert_string_equal(outcome("accelerators<13", doc, NULL, 0), "failed");
    assert_string_equal(outcome("accelerators<12", doc, NULL, 0), "unclear");
    assert_string_equal(outcome("accelerators<8", doc, NULL, 0), "passed");
    assert_string_equal(outcome("idle>5%", doc, NULL, 0), "unclear"); /* no curve, no cell */
    /* The search ended while the gate was met: there are 8 or more. */
    json_t *storage = json_object_get(doc, "storage");
    dlb_json_put(storage, "capped", json_true());
    for (int k = 0; k < 2; k++) {
        assert_string_equal(outcome("accelerators<8", doc, NULL, 0), "passed");
        assert_string_equal(outcome("accelerators<9", doc, NULL, 0), "unclear");
        assert_string_equal(outcome("accelerators<13", doc, NULL, 0), "unclear");
        assert_string_equal(outcome("accelerators>7", doc, NULL, 0), "failed");
        assert_string_equal(outcome("accelerators>12", doc, NULL, 0), "unclear");
        dlb_json_put(storage, "high", json_null());
    }
    json_decref(doc);
}

static void test_changes(void **state)
{
    (void)state;
    json_t *of = doc_of(run_text);
    json_t *doc = doc_of(
        "{\"command\": \"compare\", \"compare\": {\"smallest_frac\": 0.01, \"cells\": ["
        "{\"settings\": {\"loader.num_workers\": 4}, \"change_frac\": -0.03, \"low\": -0.045, "
        "\"high\": -0.015},"
        "{\"settings\": {\"loader.num_workers\": 8}, \"change_frac\": 0, \"low\": -0.005, \"high\":"
        " 0.005}],"
        "\"overall\": {\"change_frac\": -0.015, \"low\": -0.03, \"high\": 0}}}");
    assert_string_equal(outcome("slower", doc, of, 0), "failed");
    assert_string_equal(outcome("slower>2%", doc, of, 0), "unclear");
    assert_string_equal(outcome("slower>5%", doc, of, 0), "passed");
    assert_string_equal(outcome("slower", doc, of, 1), "passed");
    assert_string_equal(outcome("slower", doc, of, 2), "unclear"); /* over all */
    assert_string_equal(outcome("faster", doc, of, 0), "passed");
    assert_string_equal(outcome("idle>7%", doc, of, 0), "failed"); /* of B */
    json_decref(doc);
    doc = doc_of("{\"command\": \"compare\", \"cells\": []}"); /* a side could not be measured */
    assert_string_equal(outcome("slower", doc, NULL, 0), "unclear");
    json_decref(doc);
    json_decref(of);
}

static void test_all_measured(void **state)
{
    (void)state;
    json_t *doc = doc_of("{\"cells\": [{\"status\": \"ok\"}, {\"status\": \"skipped\"}]}");
    json_t *outcomes = dlb_json_made(json_array());
    dlb_json_append(outcomes, dlb_rules_all_measured(doc));
    dlb_json_put(json_array_get(json_object_get(doc, "cells"), 0), "status", json_string("failed"));
    dlb_json_append(outcomes, dlb_rules_all_measured(doc));
    assert_int_equal(dlb_rules_count(outcomes, "passed"), 1);
    assert_int_equal(dlb_rules_count(outcomes, "failed"), 1);
    json_decref(outcomes);
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_one_side_or_unclear),
        cmocka_unit_test(test_which_cell),
        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_all_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
