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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_lists_are_not_entered),
        cmocka_unit_test(lists_of_tables_are_not_supported),
        cmocka_unit_test(lists_of_lists_are_for_options_to_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
