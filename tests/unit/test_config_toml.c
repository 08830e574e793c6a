/* What toml11 must not see, because it crashes at it, and configurations at which it would. */
#include "core/base/config_toml.h"
#include "tests/support/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void refused(const char *text, unsigned line, enum dlb_code code, const char *figure)
{
    json_t *entries = NULL;
    struct dlb_err err;
    char where[32];
    (void)snprintf(where, sizeof where, "c.toml:%u", line);
    if (dlb_toml_parse(text, strlen(text), "c.toml", &entries, &err) == DLB_OK)
        fail_msg("taken: %s", text);
    error_is(&err, code, figure);
    assert_string_equal(err.path, where);
}

static void empty_lists_are_not_entered(void **state)
{
    (void)state;
    refused("a = []\n[[a.b]]\n", 1, DLB_ERR_CONFIG_BAD_AXIS, "a: ");
    refused("a = []\n[a.b]\n", 1, DLB_ERR_CONFIG_BAD_AXIS, "a: ");
    refused("\n[a]\nb = [ # none\n  \n ]\n[a.b.c]\n", 3, DLB_ERR_CONFIG_BAD_AXIS, "b: ");
    refused("a = {b = []}\na.b.c = 1\n", 1, DLB_ERR_CONFIG_BAD_AXIS, "a: ");
    refused("a = [[], 1]\n", 1, DLB_ERR_CONFIG_BAD_AXIS, "a: ");
    refused("a = [1]\n[a.b]\n", 2, DLB_ERR_CONFIG_NOT_TOML, "");
}

static void lists_of_tables_are_not_supported(void **state)
{
    (void)state;
    refused("[run]\n  [[a.b]] # of tables\n", 2, DLB_ERR_CONFIG_UNSUPPORTED_TOML, "[[a.b]]");
    refused("[[a]]", 1, DLB_ERR_CONFIG_UNSUPPORTED_TOML, "[[a]]");
    refused("[[", 1, DLB_ERR_CONFIG_UNSUPPORTED_TOML, "[[");
    refused("[]\n", 1, DLB_ERR_CONFIG_NOT_TOML, "");
}

static void lists_of_lists_are_for_options_to_refuse(void **state)
{
    (void)state;
    refused("a = [\n[1], [2]]\n", 1, DLB_ERR_CONFIG_UNSUPPORTED_TOML, "a: ");
}

/* toml11 would read 8 and 0. */
static void binary_numbers_beyond_64_bits(void **state)
{
    (void)state;
    char text[200], zeros[64] = "";
    json_t *entries = NULL;
    struct dlb_err err;
    memset(zeros, '0', 63);
    (void)snprintf(text, sizeof text, "a = 1\nb = 0b1%s1000\n", zeros);
    refused(text, 2, DLB_ERR_CONFIG_OUT_OF_RANGE, "62");
    (void)snprintf(text, sizeof text, "b = [1, 0b%s]\n", zeros);
    refused(text, 1, DLB_ERR_CONFIG_OUT_OF_RANGE, "b: ");
    (void)snprintf(text, sizeof text, "b = 0b1_%.61s\nc = '0b%s'\n", zeros, zeros);
    assert_int_equal(dlb_toml_parse(text, strlen(text), "c.toml", &entries, &err), DLB_OK);
    const json_t *value = json_object_get(json_array_get(entries, 0), "value");
    assert_int_equal(json_integer_value(value), INT64_C(1) << 61);
    json_decref(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_lists_are_not_entered),
        cmocka_unit_test(lists_of_tables_are_not_supported),
        cmocka_unit_test(lists_of_lists_are_for_options_to_refuse),
        cmocka_unit_test(binary_numbers_beyond_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
