/* Which comes first, loading or copies: by what each would gain. */
#include "core/measure/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct row {
    const char *name;
    double compute, input, h2d, residual; /* shares */
    double low, gain, high;
    double copy_call;
    enum dlb_verdict_class klass;
};

/* A link without copies would gain 1 / (1 - h2d): 1.43 of a share of 30%. */
static const struct row rows[] = {
    {"copies gain more", 0.4, 0.25, 0.3, 0.05, 1.3, 1.35, 1.4, 0, DLB_V_H2D_BOUND},
    {"loading gains more", 0.4, 0.25, 0.3, 0.05, 1.9, 2.0, 2.1, 0, DLB_V_INPUT_BOUND},
    {"across 1.43, more at the median", 0.6, 0.06, 0.3, 0.04, 1.2, 1.44, 1.7, 0, DLB_V_INPUT_BOUND},
    {"across 1.43, less at the median", 0.6, 0.06, 0.3, 0.04, 1.2, 1.42, 1.7, 0, DLB_V_H2D_BOUND},
    {"a wait of a few percent", 0.6, 0.04, 0.3, 0.06, 1.9, 2.0, 2.1, 0, DLB_V_H2D_BOUND},
    {"the rest is larger, which the ceiling may lack", 0.73, 0.06, 0.11, 0.1, 1.13, 1.17, 1.2, 0,
     DLB_V_H2D_BOUND},
    {"small copies, larger than the wait", 0.85, 0.06, 0.08, 0.01, 1.15, 1.17, 1.2, 0,
     DLB_V_INPUT_BOUND},
    /* Steps of 6 ms, copies of 10, a wait of 0.6. The ceiling's copies take 5. */
    {"only the ceiling copies so fast", 0.566, 0.057, 0.377, 0, 1.7, 1.77, 1.8, 0.943,
     DLB_V_H2D_BOUND},
    {"copies no longer than the step", 0.566, 0.057, 0.377, 0, 1.7, 1.77, 1.8, 0.566,
     DLB_V_INPUT_BOUND},
    /* PyTorch, tokens, two workers, as measured: steps of 4.1 ms and copies of 6.8 within 15. */
    {"copies longer than the step, and a wait", 0.28, 0.29, 0.43, 0, 3.4, 3.6, 3.7, 0.46,
     DLB_V_INPUT_BOUND},
};

static void what_gains_more_comes_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        struct dlb_evidence e = {
            .complete = true,
            .step_ns = 10e6,
            .num_workers = 2,
            .n_cpus = 8,
            .compute_frac = r->compute,
            .input_frac = r->input,
            .h2d_frac = r->h2d,
            .residual_frac = r->residual,
            .gain = {.median = r->gain, .low = r->low, .high = r->high, .n = 6},
            .copy_call_frac = r->copy_call,
        };
        struct dlb_verdict v;
        dlb_judge(&e, &v);
        if (v.klass != r->klass)
            fail_msg("%s: %s", r->name, v.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_gains_more_comes_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
