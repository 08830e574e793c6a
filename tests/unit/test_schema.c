/* The checker of JSON against a schema, and what summary.schema.json promises.
 *
 *   unit_test_schema FILE...    holds files against summary.schema.json, exactly, instead (the
 *                               command-line tests call it so) */
#include "core/measure/verdict.h"
#include "reports/load.h"
#include "reports/schema.h"
#include "scenarios/storage/bottleneck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The code of what is wrong, or DLB_N_CODES when nothing is. */
static enum dlb_code offence(const char *schema_text, const char *value_text,
                             enum dlb_schema_strictness strictness, struct dlb_err *err)
{
    json_t *schema = json_loads(schema_text, 0, NULL);
    json_t *value = json_loads(value_text, JSON_DECODE_ANY, NULL);
    assert_non_null(schema);
    assert_non_null(value);
    int rc = dlb_schema_check(schema, value, strictness, "x.json", err);
    json_decref(schema);
    json_decref(value);
    assert_true(rc == DLB_OK || rc == DLB_E_FORMAT);
    return rc ? err->code : DLB_N_CODES;
}

static bool holds(const char *schema_text, const char *value_text)
{
    struct dlb_err err;
    return offence(schema_text, value_text, DLB_SCHEMA_EXACT, &err) == DLB_N_CODES;
}

static bool is_readable(const char *schema_text, const char *value_text)
{
    struct dlb_err err;
    return offence(schema_text, value_text, DLB_SCHEMA_READABLE, &err) == DLB_N_CODES;
}

static void test_each_keyword_refuses(void **state)
{
    (void)state;
    assert_true(holds("{\"type\": \"integer\"}", "1"));
    assert_false(holds("{\"type\": \"integer\"}", "1.5"));
    assert_true(holds("{\"type\": \"integer\"}", "1e30"));
    assert_true(holds("{\"type\": [\"number\", \"null\"]}", "null"));
    assert_false(holds("{\"type\": [\"number\", \"null\"]}", "\"1\""));
    assert_false(holds("{\"enum\": [\"a\", \"b\"]}", "\"c\""));
    assert_false(holds("{\"minimum\": 0}", "-1"));
    assert_false(holds("{\"maximum\": 1}", "1.01"));
    assert_true(holds("{\"maximum\": 1}", "null"));
    assert_false(holds("{\"pattern\": \"^[0-9]+$\"}", "\"x\""));
    assert_false(holds("{\"minItems\": 2}", "[1]"));
    assert_true(holds("{\"minItems\": 2}", "[1, 2]"));
    assert_false(holds("{\"required\": [\"a\"]}", "{\"b\": 1}"));
    assert_false(
        holds("{\"properties\": {\"a\": {}}, \"additionalProperties\": false}", "{\"b\": 1}"));
    assert_false(holds("{\"additionalProperties\": {\"type\": \"string\"}}", "{\"b\": 1}"));
    assert_false(holds("{\"items\": {\"type\": \"string\"}}", "[\"a\", 1]"));
    assert_false(holds("{\"$ref\": \"#/$defs/x\", \"$defs\": {\"x\": {\"type\": \"null\"}}}", "1"));
    assert_false(holds("{\"$ref\": \"#/$defs/y\"}", "1"));
    assert_false(holds("{\"oneOf\": []}", "1"));
}

/* What another version of the program may have written differently. */
static void test_readable_is_less_than_exact(void **state)
{
    (void)state;
    struct dlb_err err;
    const char *schema = "{\"required\": [\"a\", \"b\"], \"needed\": [\"a\"], \"properties\": "
                         "{\"a\": {\"type\": \"number\", \"minimum\": 0, \"maximum\": 1}, \"b\": "
                         "{\"type\": \"string\", \"enum\": [\"x\"], \"pattern\": \"x\"}}, "
                         "\"additionalProperties\": false}";
    assert_true(is_readable(schema, "{\"a\": 7, \"b\": \"y\", \"c\": null}"));
    assert_true(is_readable(schema, "{\"a\": -7}"));
    assert_false(is_readable(schema, "{\"a\": \"1\"}"));
    assert_false(is_readable(schema, "{\"a\": 1, \"b\": 1}"));
    assert_int_equal(offence(schema, "{\"b\": \"x\"}", DLB_SCHEMA_READABLE, &err),
                     DLB_ERR_SUMMARY_FIELD_MISSING);
    assert_int_equal(offence(schema, "{\"a\": 1}", DLB_SCHEMA_EXACT, &err),
                     DLB_ERR_SUMMARY_FIELD_MISSING);
}

static void test_says_where(void **state)
{
    (void)state;
    struct dlb_err err;
    const char *schema = "{\"properties\": {\"a\": {\"items\": {\"properties\": {\"b\": "
                         "{\"type\": \"string\"}}, \"needed\": [\"c\"]}}}}";
    assert_int_equal(
        offence(schema, "{\"a\": [{\"c\": 1}, {\"b\": 1, \"c\": 1}]}", DLB_SCHEMA_READABLE, &err),
        DLB_ERR_SUMMARY_FIELD_BAD);
    assert_string_equal(err.path, "x.json");
    assert_non_null(strstr(err.what, " a[1].b "));
    assert_int_equal(offence(schema, "{\"a\": [{}]}", DLB_SCHEMA_READABLE, &err),
                     DLB_ERR_SUMMARY_FIELD_MISSING);
    assert_non_null(strstr(err.what, " a[0].c "));
}

static void assert_known(const json_t *schema)
{
    static const char *const of_names[] = {"properties", "$defs"}; /* their keys are no keywords */
    struct dlb_err err;
    const char *word;
    json_t *argument, *one = json_integer(1);
    json_object_foreach((json_t *)schema, word, argument) {
        bool nested = strcmp(word, "items") == 0 || strcmp(word, "additionalProperties") == 0;
        if (nested) {
            assert_known(argument);
        } else if (strcmp(word, of_names[0]) == 0 || strcmp(word, of_names[1]) == 0) {
            const char *name;
            json_t *named;
            json_object_foreach(argument, name, named)
                assert_known(named);
        } else if (strcmp(word, "type") != 0 && strcmp(word, "$ref") != 0) {
            json_t *alone = json_pack("{sO}", word, argument);
            if (dlb_schema_check(alone, one, DLB_SCHEMA_READABLE, word, &err))
                fail_msg("%s: %s", word, err.what);
            json_decref(alone);
        }
    }
    json_decref(one);
}

/* A keyword that the checker does not know refuses each document with such a value. */
static void test_keywords_of_the_schemas_are_known(void **state)
{
    (void)state;
    json_t *watched = json_pack("{ss}", "command", "watch"), *schema = dlb_summary_schema();
    assert_known(schema);
    json_decref(schema);
    schema = dlb_summary_schema_of(watched);
    assert_non_null(json_object_get(schema, "properties"));
    assert_known(schema);
    json_decref(schema);
    json_decref(watched);
}

static bool lists(const json_t *names, const char *name)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(names, i, entry) {
        if (strcmp(json_string_value(entry), name) == 0)
            return true;
    }
    return false;
}

/* The schema names every field that is promised, and closes every object but the environment. */
static void test_summary_schema_is_strict(void **state)
{
    (void)state;
    struct dlb_err err;
    json_t *schema = dlb_summary_schema(), *empty = json_object();
    assert_int_equal(dlb_schema_check(schema, empty, DLB_SCHEMA_EXACT, "x", &err), DLB_E_FORMAT);
    assert_int_equal(dlb_schema_check(schema, empty, DLB_SCHEMA_READABLE, "x", &err), DLB_E_FORMAT);
    static const char *const promised[] = {
        "schema_version", "command",   "run_name",         "partial", "dlbench",      "environment",
        "dataset",        "config",    "config_hash",      "rank",    "world",        "device",
        "verdict",        "best_cell", "recommended_cell", "pytorch", "not_modelled", "cells"};
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++)
        assert_true(lists(json_object_get(schema, "required"), promised[i]));
    const char *def;
    json_t *one;
    json_object_foreach(json_object_get(schema, "$defs"), def, one) {
        assert_non_null(json_object_get(one, "additionalProperties"));
    }
    json_decref(empty);
    json_decref(schema);
}

/* Everywhere in the schema: what reports need is written, and what is written is described. */
static void check_lists(const json_t *schema)
{
    const json_t *entry, *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach(json_object_get(schema, "needed"), i, entry) {
        assert_true(lists(json_object_get(schema, "required"), json_string_value(entry)));
    }
    json_array_foreach(json_object_get(schema, "required"), i, entry) {
        assert_non_null(json_object_get(properties, json_string_value(entry)));
    }
    json_object_foreach((json_t *)schema, key, value) {
        check_lists(value);
    }
}

static void test_needed_is_written(void **state)
{
    (void)state;
    json_t *watch = json_pack("{ss}", "command", "watch");
    json_t *schema = dlb_summary_schema(), *other = dlb_summary_schema_of(watch);
    assert_true(lists(json_object_get(schema, "needed"), "verdict"));
    check_lists(schema);
    assert_true(lists(json_object_get(other, "needed"), "watch"));
    check_lists(other);
    json_decref(other);
    json_decref(watch);
    json_decref(schema);
}

/* The schema lists the codes that core/measure/verdict.h has. */
static void test_verdict_codes_are_listed(void **state)
{
    (void)state;
    json_t *schema = dlb_summary_schema(),
           *verdict = json_object_get(json_object_get(schema, "$defs"), "verdict");
    const json_t *codes =
        json_object_get(json_object_get(json_object_get(verdict, "properties"), "code"), "enum");
    size_t n = 0;
    for (int klass = 0; klass <= DLB_V_BALANCED; klass++)
        for (int cause = 0; cause <= DLB_CAUSE_HARNESS; cause++) {
            const char *code =
                dlb_verdict_code((enum dlb_verdict_class)klass, (enum dlb_cause)cause);
            n += code != NULL;
            assert_true(!code || lists(codes, code));
        }
    assert_int_equal(json_array_size(codes), n);
    json_decref(schema);
}

static void test_bottleneck_codes_are_listed(void **state)
{
    (void)state;
    json_t *schema = dlb_summary_schema(),
           *storage = json_object_get(json_object_get(schema, "$defs"), "storage");
    const json_t *codes =
        json_object_get(json_object_get(json_object_get(storage, "properties"), "code"), "enum");
    for (int i = DLB_BOTTLENECK_NONE; i <= DLB_BOTTLENECK_BANDWIDTH; i++)
        assert_true(lists(codes, dlb_bottleneck_code((enum dlb_bottleneck)i)));
    assert_int_equal(json_array_size(codes), DLB_BOTTLENECK_BANDWIDTH + 1);
    json_decref(schema);
}

/* The part of a schema of that name, with a type of its own. */
static const json_t *part_of(const json_t *schema, const char *name)
{
    const json_t *part = json_object_get(json_object_get(schema, "$defs"), name);
    assert_non_null(part);
    return part;
}

/* Each code that this program can write fits the schema's pattern. */
static void test_codes_fit_their_patterns(void **state)
{
    (void)state;
    static const char *const notes[] = {
#define X(name, text) #name,
#include "scenarios/judge/notes.def"
#undef X
    };
    struct dlb_err err;
    json_t *schema = dlb_summary_schema();
    const json_t *of_note = json_object_get(part_of(schema, "note"), "properties");
    const json_t *of_cell = json_object_get(part_of(schema, "cell"), "properties");
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        json_t *code = json_string(notes[i]);
        assert_int_equal(
            dlb_schema_check(json_object_get(of_note, "code"), code, DLB_SCHEMA_EXACT, "x", &err),
            DLB_OK);
        json_decref(code);
    }
    for (int i = 0; i < DLB_N_CODES; i++) {
        json_t *code = json_string(dlb_code_name((enum dlb_code)i));
        assert_int_equal(
            dlb_schema_check(json_object_get(of_cell, "code"), code, DLB_SCHEMA_EXACT, "x", &err),
            DLB_OK);
        json_decref(code);
    }
    json_decref(schema);
}

/* A note is a code and a sentence. */
static void test_notes_have_codes(void **state)
{
    (void)state;
    struct dlb_err err;
    json_t *schema = dlb_summary_schema();
    char *note = json_dumps(part_of(schema, "note"), 0);
    assert_true(holds(note, "{\"code\": \"NO_GPU\", \"text\": \"x\"}"));
    assert_false(holds(note, "{\"code\": \"no gpu\", \"text\": \"x\"}"));
    assert_false(holds(note, "{\"code\": \"NO_GPU\"}"));
    assert_false(holds(note, "{\"text\": \"x\"}"));
    assert_true(is_readable(note, "{\"text\": \"x\"}"));
    assert_int_equal(offence(note, "{}", DLB_SCHEMA_READABLE, &err), DLB_ERR_SUMMARY_FIELD_MISSING);
    assert_int_equal(offence(note, "\"x\"", DLB_SCHEMA_READABLE, &err), DLB_ERR_SUMMARY_FIELD_BAD);
    free(note);
    json_decref(schema);
}

static int check_files(int argc, char **argv)
{
    int bad = 0;
    for (int i = 1; i < argc; i++) {
        json_error_t why;
        struct dlb_err err = {.code = DLB_N_CODES};
        json_t *doc = json_load_file(argv[i], 0, &why), *schema = dlb_summary_schema_of(doc);
        if (!doc || dlb_schema_check(schema, doc, DLB_SCHEMA_EXACT, argv[i], &err)) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], doc ? err.what : why.text);
            bad = 1;
        }
        json_decref(schema);
        json_decref(doc);
    }
    return bad;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_keyword_refuses),
        cmocka_unit_test(test_keywords_of_the_schemas_are_known),
        cmocka_unit_test(test_says_where),
        cmocka_unit_test(test_readable_is_less_than_exact),
        cmocka_unit_test(test_summary_schema_is_strict),
        cmocka_unit_test(test_needed_is_written),
        cmocka_unit_test(test_verdict_codes_are_listed),
        cmocka_unit_test(test_bottleneck_codes_are_listed),
        cmocka_unit_test(test_codes_fit_their_patterns),
        cmocka_unit_test(test_notes_have_codes),
    };
    if (argc > 1)
        return check_files(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
