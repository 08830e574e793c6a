/* Names of classes, causes and severities, and the codes of pairs. */
#include "core/measure/verdict_terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names(void **state)
{
    (void)state;
    assert_string_equal(dlb_verdict_class_name(DLB_V_INPUT_BOUND), "INPUT-BOUND");
    assert_string_equal(dlb_verdict_class_name(DLB_V_H2D_BOUND), "H2D-BOUND");
    assert_string_equal(dlb_verdict_class_name(DLB_V_COMPUTE_BOUND), "COMPUTE-BOUND");
    assert_string_equal(dlb_verdict_class_name(DLB_V_RESIDUAL_HEAVY), "RESIDUAL-HEAVY");
    assert_string_equal(dlb_verdict_class_name(DLB_V_BORDERLINE), "BORDERLINE");
    assert_string_equal(dlb_verdict_class_name(DLB_V_BALANCED), "BALANCED");
    assert_string_equal(dlb_verdict_class_name(DLB_V_HARNESS_BOUND), "HARNESS-BOUND");
    assert_string_equal(dlb_verdict_class_name(DLB_V_INCOMPLETE), "INCOMPLETE");

    static const char *const causes[] = {"none",      "read",  "decode", "transform", "collate",
                                         "transport", "order", "pin",    "copy",      "cpu",
                                         "host",      "start", "harness"};
    for (int i = 0; i <= DLB_CAUSE_HARNESS; i++)
        assert_string_equal(dlb_cause_name((enum dlb_cause)i), causes[i]);
    assert_string_equal(dlb_severity_name(DLB_SEVERITY_OK), "ok");
    assert_string_equal(dlb_severity_name(DLB_SEVERITY_WARN), "warn");
    assert_string_equal(dlb_severity_name(DLB_SEVERITY_CRITICAL), "critical");
}

/* A pair of class and cause has a code of its own, or none. That each pair that the rule gives has
 * one, test_verdict.c and test_verdict_any.c see. */
static void codes(void **state)
{
    (void)state;
    const char *seen[64];
    size_t n = 0;
    for (int klass = 0; klass <= DLB_V_BALANCED; klass++)
        for (int cause = 0; cause <= DLB_CAUSE_HARNESS; cause++) {
            const char *code =
                dlb_verdict_code((enum dlb_verdict_class)klass, (enum dlb_cause)cause);
            for (size_t k = 0; code && k < n; k++)
                assert_string_not_equal(code, seen[k]);
            if (code)
                seen[n++] = code;
        }
    assert_int_equal(n, 19);
    assert_string_equal(dlb_verdict_code(DLB_V_INPUT_BOUND, DLB_CAUSE_DECODE),
                        "INPUT_BOUND_DECODE");
    assert_string_equal(dlb_verdict_code(DLB_V_H2D_BOUND, DLB_CAUSE_COPY), "H2D_BOUND_COPY");
    assert_string_equal(dlb_verdict_code(DLB_V_RESIDUAL_HEAVY, DLB_CAUSE_NONE), "RESIDUAL_HEAVY");
    assert_string_equal(dlb_verdict_code(DLB_V_HARNESS_BOUND, DLB_CAUSE_HARNESS), "HARNESS_BOUND");
    assert_string_equal(dlb_verdict_code(DLB_V_INCOMPLETE, DLB_CAUSE_NONE), "INCOMPLETE");
    assert_string_equal(dlb_verdict_code(DLB_V_BORDERLINE, DLB_CAUSE_NONE), "BORDERLINE");
    assert_null(dlb_verdict_code(DLB_V_BALANCED, DLB_CAUSE_COPY));
    assert_null(dlb_verdict_code((enum dlb_verdict_class)99, DLB_CAUSE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
