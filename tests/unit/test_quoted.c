/* Strings of TOML as values of --set, by themselves and beside what a file says. */
#include "core/base/quoted.h"

#include "core/base/config.h"
#include "scenarios/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text, *value;
} strings[] = {
    {"\"\"", ""},
    {"''", ""},
    {"\"a b\"", "a b"},
    {"\"a\\\"b\"", "a\"b"},
    {"\"a\\\\\"", "a\\"},
    {"\"\\\\n\"", "\\n"},
    {"\"\\b\\t\\n\\f\\r\"", "\b\t\n\f\r"},
    {"\"caf\\u00e9 \\u20AC \\U0001f600\"", "caf\u00e9 \u20ac \U0001f600"},
    {"\"\\u0041\\u007f\\ud7ff\\ue000\"", "A\x7f\xed\x9f\xbf\xee\x80\x80"},
    {"\"\\U0010ffff\"", "\xf4\x8f\xbf\xbf"},
    {"\"it's\"", "it's"},
    {"'C:\\data \"x\"'", "C:\\data \"x\""},
    {"'\\'", "\\"},
    {"\"caf\u00e9\"", "caf\u00e9"},
    {"\"12e5678\"", "12e5678"},
    {"\"a[0], b]\"", "a[0], b]"},
};
#define N_STRINGS (sizeof(strings) / sizeof(*strings))

static const char *const wrong[] = {
    "\"",          "'",
    "\"a",         "'a",
    "\"a\\\"",     "\"a'",
    "\"a\" b",     "\"a\"b\"",
    "'a''b'",      "\"\"\"a\"\"\"",
    "\"\\x41\"",   "\"C:\\data\"",
    "\"\\ \"",     "\"\\u12\"",
    "\"\\u12g4\"", "\"\\ud800\"",
    "\"\\uDFFF\"", "\"\\U00110000\"",
    "\"\\U0041\"", "\"\\u+041\"",
};
#define N_WRONG (sizeof(wrong) / sizeof(*wrong))

static struct dlb_err err;

static void read_by_themselves(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_STRINGS + N_WRONG; i++) {
        bool right = i < N_STRINGS;
        char *text = strdup(right ? strings[i].text : wrong[i - N_STRINGS]);
        size_t n = 0;
        assert_non_null(text);
        assert_true(dlb_is_quoted(text));
        const char *what = dlb_unquote(text, &n);
        if (right != !what)
            fail_msg("%s: %s", right ? strings[i].text : wrong[i - N_STRINGS],
                     what ? what : "taken");
        if (right)
            assert_string_equal(text, strings[i].value);
        if (right)
            assert_int_equal(n, strlen(text));
        free(text);
    }
    char zero[] = "\"a\\u0000b\"";
    size_t n = 0;
    assert_null(dlb_unquote(zero, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(zero, "a\0b", 4);
}

/* What a key has, as JSON. */
static char *value_of(struct dlb_config *cfg, const char *key)
{
    json_t *all = dlb_config_resolved(cfg);
    char *text = json_dumps(json_object_get(all, key), JSON_ENCODE_ANY | JSON_COMPACT);
    json_decref(all);
    assert_non_null(text);
    return text;
}

static void holds(struct dlb_config *cfg, const char *key, const char *json)
{
    char *text = value_of(cfg, key);
    assert_string_equal(text, json);
    free(text);
}

static char *formatted(const char *fmt, const char *text)
{
    char *out = NULL;
    if (asprintf(&out, fmt, text) < 0)
        fail_msg("out of memory");
    return out;
}

/* The same characters behind `--set KEY=` and behind `KEY = ` in a file, alone and in a list. */
static void read_as_in_a_file(void **state)
{
    static const char *const forms[] = {"dataset.path=%s", "python.args.x=%s",
                                        "python.args.x=[1, %s, %s]"};
    static const char *const keys[] = {"dataset.path", "python.args.x", "python.args.x"};
    (void)state;
    for (size_t i = 0; i < N_STRINGS; i++)
        for (size_t f = 0; f < 3; f++) {
            struct dlb_config *file = dlb_config_new(dlb_spec_groups());
            struct dlb_config *set = dlb_config_new(dlb_spec_groups());
            char *said = NULL;
            if (asprintf(&said, forms[f], strings[i].text, strings[i].text) < 0)
                fail_msg("out of memory");
            if (dlb_config_load_text(file, said, strlen(said), "a.toml", &err) ||
                dlb_config_set(set, said, &err))
                fail_msg("%s: %s", said, err.what);
            char *wanted = value_of(file, keys[f]);
            holds(set, keys[f], wanted);
            free(wanted);
            free(said);
            dlb_config_free(file);
            dlb_config_free(set);
        }
}

static void refused(struct dlb_config *cfg, const char *assignment, enum dlb_code code)
{
    if (dlb_config_set(cfg, assignment, &err) == DLB_OK || err.code != code)
        fail_msg("%s: %s: %s", assignment, dlb_code_name(err.code), err.what);
}

static void no_strings_are_refused(void **state)
{
    static const char *const forms[] = {"dataset.path=%s", "python.args.x=%s",
                                        "python.args.x=[1, %s]", "sweep.python.loader=[%s]",
                                        "sweep.python.args.x=[a, %s]"};
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    (void)state;
    for (size_t i = 0; i < N_WRONG; i++)
        for (size_t f = 0; f < sizeof(forms) / sizeof(*forms); f++) {
            char *said = formatted(forms[f], wrong[i]);
            refused(cfg, said, DLB_ERR_CONFIG_BAD_TEXT);
            free(said);
        }
    refused(cfg, "dataset.path=\"a\\u0000b\"", DLB_ERR_CONFIG_BAD_TEXT);
    refused(cfg, "dataset.format=\"files\\u0000b\"", DLB_ERR_CONFIG_BAD_TEXT);
    refused(cfg, "python.args.x=\"a\\u0000b\"", DLB_ERR_CONFIG_BAD_TEXT);
    refused(cfg, "python.args.x=\"\xff\"", DLB_ERR_CONFIG_BAD_TEXT);
    refused(cfg, "python.args.x=[\"a\", [1]]", DLB_ERR_CONFIG_WRONG_TYPE);
    refused(cfg, "python.args.x=[\"a]", DLB_ERR_CONFIG_BAD_TEXT);
    dlb_config_free(cfg);
}

static void lists_are_cut_between_strings(void **state)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    (void)state;
    assert_int_equal(
        dlb_config_set(cfg, "python.args.x=[\"a\\\", b\", 'c\\', it's, d, \"[e]\" , \"\",]", &err),
        DLB_OK);
    holds(cfg, "python.args.x", "[\"a\\\", b\",\"c\\\\\",\"it's\",\"d\",\"[e]\",\"\"]");
    assert_int_equal(dlb_config_set(cfg, "sweep.python.loader=[\"a\\\",b:c\", 'd,e:f']", &err),
                     DLB_OK);
    char *axes = json_dumps(dlb_config_axes(cfg), JSON_COMPACT);
    assert_string_equal(axes, "{\"python.loader\":[\"a\\\",b:c\",\"d,e:f\"]}");
    free(axes);
    assert_int_equal(dlb_config_set(cfg, "loader.shuffle_buffer_bytes=\"64\\u0020KiB\"", &err),
                     DLB_OK);
    holds(cfg, "loader.shuffle_buffer_bytes", "65536");
    dlb_config_free(cfg);
}

/* Escapes are longer than what they stand for: what counts is the value. */
static void length_is_of_the_value(void **state)
{
    char text[64 + 6 * DLB_OPT_STRING_CAP] = "dataset.path=\"";
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    (void)state;
    for (int i = 0; i < DLB_OPT_STRING_CAP - 1; i++)
        strcat(text, "\\u0041");
    strcat(text, "\"");
    assert_int_equal(dlb_config_set(cfg, text, &err), DLB_OK);
    text[strlen(text) - 1] = '\0';
    strcat(text, "B\"");
    refused(cfg, text, DLB_ERR_CONFIG_BAD_TEXT);
    dlb_config_free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_by_themselves),     cmocka_unit_test(read_as_in_a_file),
        cmocka_unit_test(no_strings_are_refused), cmocka_unit_test(lists_are_cut_between_strings),
        cmocka_unit_test(length_is_of_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
