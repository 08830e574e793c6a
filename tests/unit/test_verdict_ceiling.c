/* What a ceiling is worth that was itself idle although its batches were ready and copied: nothing.
 * The figures are those of a busy machine. */
#include "core/measure/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct row {
    double compute, input, residual, ratio, low, high, ceiling_idle;
    enum dlb_verdict_class klass;
    enum dlb_severity severity;
    const char *says[3];
} rows[] = {
    {0.42,
     0.53,
     0.05,
     0.82,
     0.71,
     0.97,
     0.65,
     DLB_V_HARNESS_BOUND,
     DLB_SEVERITY_CRITICAL,
     {"data 53%", "idle 65%", "quiet machine"}},
    {0.43,
     0.33,
     0.24,
     0.82,
     0.71,
     0.97,
     0.11,
     DLB_V_HARNESS_BOUND,
     DLB_SEVERITY_CRITICAL,
     {"data 33%", "idle 11%"}},
    {0.87,
     0.12,
     0.01,
     1.01,
     0.97,
     1.04,
     0.4,
     DLB_V_HARNESS_BOUND,
     DLB_SEVERITY_WARN,
     {"12%", "idle 40%"}},
    /* It starved, and leaves it open: it refutes nothing, and proves nothing either. */
    {0.87,
     0.12,
     0.01,
     1.1,
     1.0,
     1.2,
     0.4,
     DLB_V_HARNESS_BOUND,
     DLB_SEVERITY_WARN,
     {"12%", "idle 40%"}},
    /* Where the device hardly waits, its own shares are enough. */
    {0.97, 0.03, 0, 1.1, 1.0, 1.2, 0.4, DLB_V_COMPUTE_BOUND, DLB_SEVERITY_OK, {"97%"}},
    /* A ceiling that did not starve and is not faster: idle, and the cause is not known. */
    {0.42,
     0.53,
     0.05,
     0.98,
     0.9,
     1.1,
     0.1,
     DLB_V_INCOMPLETE,
     DLB_SEVERITY_WARN,
     {"53%", "58%", "quiet machine"}},
    /* Nor can it be told whether it is faster. */
    {0.42,
     0.53,
     0.05,
     0.98,
     0.9,
     1.6,
     0.1,
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"data 53%", "at most 1.60x"}},
    {0.55,
     0.25,
     0.20,
     1.02,
     0.9,
     1.1,
     0.01,
     DLB_V_RESIDUAL_HEAVY,
     DLB_SEVERITY_CRITICAL,
     {"data 25%"}},
    {0.86,
     0.14,
     0,
     1.02,
     0.97,
     1.05,
     0,
     DLB_V_INCOMPLETE,
     DLB_SEVERITY_WARN,
     {"14%", "(1.02x; 0.97x to 1.05x)", "more repeats"}},
    /* A ceiling that starved, and is clearly faster even so. */
    {0.2, 0.8, 0, 4, 3.9, 4.1, 0.2, DLB_V_INPUT_BOUND, DLB_SEVERITY_CRITICAL, {"80%"}},
};

static void a_starved_ceiling_refutes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct dlb_evidence e = {
            .complete = true,
            .step_ns = 10e6,
            .num_workers = 2,
            .n_cpus = 2,
            .compute_frac = row->compute,
            .input_frac = row->input,
            .residual_frac = row->residual,
            .ceiling_idle_frac = row->ceiling_idle,
            .gain = {.median = row->ratio, .low = row->low, .high = row->high, .n = 3}};
        struct dlb_verdict v;
        dlb_judge(&e, &v);
        if (v.klass != row->klass || v.severity != row->severity)
            fail_msg("row %zu: %s", i, v.text);
        for (size_t k = 0; k < 3 && row->says[k]; k++)
            if (!strstr(v.text, row->says[k]))
                fail_msg("row %zu: no \"%s\" in: %s", i, row->says[k], v.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_starved_ceiling_refutes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
