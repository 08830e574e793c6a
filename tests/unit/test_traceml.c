/* TraceML's classes. */
#include "core/measure/traceml.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct dlb_traceml_class class_of(double input, double h2d, double compute, double residual,
                                         uint64_t n_steps)
{
    struct dlb_traceml_step step = {
        input + h2d + compute + residual, input, h2d, compute, residual, n_steps};
    struct dlb_traceml_class out;
    dlb_traceml_classify(&step, &out);
    return out;
}

static void test_classes(void **state)
{
    (void)state;
    static const struct {
        double input, h2d, compute, residual;
        uint64_t n_steps;
        enum dlb_traceml_kind kind;
        const char *severity;
    } rows[] = {
        {9.9, 0, 85, 5.1, 100, DLB_TRACEML_BALANCED, "info"},
        {10, 0, 85, 5, 100, DLB_TRACEML_INPUT_BOUND, "warn"},
        {20, 0, 75, 5, 100, DLB_TRACEML_INPUT_BOUND, "crit"},
        {20, 0, 75, 5, 19, DLB_TRACEML_INPUT_BOUND, "warn"},
        {12, 15, 73, 0, 100, DLB_TRACEML_H2D_BOUND, "warn"},
        {12, 0, 62, 26, 100, DLB_TRACEML_RESIDUAL_HEAVY, "crit"},
        {5, 2, 90, 3, 100, DLB_TRACEML_COMPUTE_BOUND, "info"},
        {5, 0, 89.9, 5.1, 100, DLB_TRACEML_BALANCED, "info"},
        {50, 0, 50, 0, 2, DLB_TRACEML_INPUT_BOUND, "warn"},
        {50, 0, 50, 0, 1, DLB_TRACEML_IS_WARMUP, "info"},
        {50, 0, 50, 0, 0, DLB_TRACEML_NO_DATA, "info"},
        {NAN, 0, 50, 0, 10, DLB_TRACEML_NO_DATA, "info"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlb_traceml_class is = class_of(rows[i].input, rows[i].h2d, rows[i].compute,
                                               rows[i].residual, rows[i].n_steps);
        if (is.kind != rows[i].kind)
            fail_msg("row %zu: %s", i, dlb_traceml_kind_name(is.kind));
        assert_string_equal(is.severity, rows[i].severity);
    }
    assert_string_equal(dlb_traceml_status_name(DLB_TRACEML_H2D_BOUND), "H2D-BOUND");
}

static void test_utilisation(void **state)
{
    (void)state;
    assert_string_equal(dlb_traceml_utilisation(0.299), "LOW");
    assert_string_equal(dlb_traceml_utilisation(0.3), "MODERATE");
    assert_string_equal(dlb_traceml_utilisation(0.7), "MODERATE");
    assert_null(dlb_traceml_utilisation(0.701));
    assert_null(dlb_traceml_utilisation(NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes),
                                       cmocka_unit_test(test_utilisation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
