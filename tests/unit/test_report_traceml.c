/* TraceML's document of a result: figures that were not measured are none. */
#include "reports/traceml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool has(const char *device_stages, const char *words)
{
    struct dlb_text out = {0};
    json_t *stages = json_loads(device_stages, 0, NULL);
    json_t *doc = json_pack("{ss, si, s[{so}]}", "command", "run", "best_cell", 0, "cells",
                            "device_stages", stages);
    assert_non_null(doc);
    dlb_traceml_render(doc, &out);
    assert_non_null(out.data);
    bool found = strstr(out.data, words) != NULL;
    dlb_text_free(&out);
    json_decref(doc);
    return found;
}

static void test_figures(void **state)
{
    (void)state;
    const char *all = "{\"compute\": {\"count\": 2, \"sum_ns\": 4e6}, \"exposed_copy\": "
                      "{\"sum_ns\": 0}, \"idle_input\": {\"sum_ns\": 2e6}, \"idle_other\": "
                      "{\"sum_ns\": 0}}",
               *part = "{\"compute\": {\"count\": 2, \"sum_ns\": null}}";
    assert_true(has(all, "Step 3.000 ms"));
    assert_false(has(all, "nan"));
    assert_false(has(part, "nan"));
    assert_false(has("{}", "nan"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
