/* The checker that holds real outputs against reports/summary.schema.json, and the checker's own
 * proof.
 *
 *   unit_test_schema FILE...    checks files instead (the command-line tests call it so) */
#include "tests/support/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static json_t *load_schema(void)
{
    char path[4096];
    json_error_t why;
    const char *root = getenv("DLB_SOURCE_DIR");
    (void)snprintf(path, sizeof(path), "%s/reports/summary.schema.json", root ? root : ".");
    json_t *schema = json_load_file(path, 0, &why);
    if (!schema)
        (void)fprintf(stderr, "%s: %s\n", path, why.text);
    return schema;
}

static bool holds(const char *schema_text, const char *value_text)
{
    struct schema_check check;
    json_t *schema = json_loads(schema_text, 0, NULL);
    json_t *value = json_loads(value_text, JSON_DECODE_ANY, NULL);
    assert_non_null(schema);
    assert_non_null(value);
    bool ok = schema_check(&check, schema, value);
    json_decref(schema);
    json_decref(value);
    return ok;
}

static void test_each_keyword_refuses(void **state)
{
    (void)state;
    assert_true(holds("{\"type\": \"integer\"}", "1"));
    assert_false(holds("{\"type\": \"integer\"}", "1.5"));
    assert_true(holds("{\"type\": [\"number\", \"null\"]}", "null"));
    assert_false(holds("{\"type\": [\"number\", \"null\"]}", "\"1\""));
    assert_false(holds("{\"enum\": [\"a\", \"b\"]}", "\"c\""));
    assert_false(holds("{\"minimum\": 0}", "-1"));
    assert_false(holds("{\"maximum\": 1}", "1.01"));
    assert_true(holds("{\"maximum\": 1}", "null"));
    assert_false(holds("{\"pattern\": \"^[0-9]+$\"}", "\"x\""));
    assert_false(holds("{\"required\": [\"a\"]}", "{\"b\": 1}"));
    assert_false(
        holds("{\"properties\": {\"a\": {}}, \"additionalProperties\": false}", "{\"b\": 1}"));
    assert_false(holds("{\"additionalProperties\": {\"type\": \"string\"}}", "{\"b\": 1}"));
    assert_false(holds("{\"items\": {\"type\": \"string\"}}", "[\"a\", 1]"));
    assert_false(holds("{\"$ref\": \"#/$defs/x\", \"$defs\": {\"x\": {\"type\": \"null\"}}}", "1"));
    assert_false(holds("{\"$ref\": \"#/$defs/y\"}", "1"));
    assert_false(holds("{\"oneOf\": []}", "1"));
}

static void test_says_where(void **state)
{
    (void)state;
    struct schema_check check;
    json_t *schema =
        json_loads("{\"properties\": {\"a\": {\"items\": {\"type\": \"string\"}}}}", 0, NULL);
    json_t *value = json_loads("{\"a\": [\"x\", 1]}", 0, NULL);
    assert_false(schema_check(&check, schema, value));
    assert_non_null(strstr(check.what, "a.[1]"));
    json_decref(schema);
    json_decref(value);
}

/* The schema names every field that is promised, and closes every object but the environment. */
static void test_summary_schema_is_strict(void **state)
{
    (void)state;
    struct schema_check check;
    json_t *schema = load_schema(), *empty = json_object();
    assert_non_null(schema);
    assert_false(schema_check(&check, schema, empty));
    const char *const promised[] = {
        "schema_version", "command",   "run_name",         "partial", "dlbench",      "environment",
        "dataset",        "config",    "config_hash",      "rank",    "world",        "device",
        "verdict",        "best_cell", "recommended_cell", "pytorch", "not_modelled", "cells"};
    const json_t *required = json_object_get(schema, "required"), *name;
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        bool found = false;
        size_t k;
        json_array_foreach(required, k, name) found =
            found || strcmp(json_string_value(name), promised[i]) == 0;
        assert_true(found);
    }
    const char *def;
    json_t *one;
    json_object_foreach(json_object_get(schema, "$defs"), def, one)
        assert_non_null(json_object_get(one, "additionalProperties"));
    json_decref(empty);
    json_decref(schema);
}

static int check_files(int argc, char **argv)
{
    struct schema_check check;
    json_t *schema = load_schema();
    int bad = schema ? 0 : 1;
    for (int i = 1; schema && i < argc; i++) {
        json_error_t why;
        json_t *doc = json_load_file(argv[i], 0, &why);
        if (!doc || !schema_check(&check, schema, doc)) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], doc ? check.what : why.text);
            bad = 1;
        }
        json_decref(doc);
    }
    json_decref(schema);
    return bad;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_keyword_refuses),
        cmocka_unit_test(test_says_where),
        cmocka_unit_test(test_summary_schema_is_strict),
    };
    if (argc > 1)
        return check_files(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
