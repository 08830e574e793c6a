/* What the gain decides, and what the text says of it: a table of intervals. */
#include "core/measure/verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GAIN(at_median, at_low, at_high)                                                           \
    {                                                                                              \
        .median = (at_median), .low = (at_low), .high = (at_high), .n = 6                          \
    }
#define ONE(at)                                                                                    \
    {                                                                                              \
        .median = (at), .low = NAN, .high = NAN, .n = 1                                            \
    }
#define USUAL .complete = true, .step_ns = 10e6, .num_workers = 2, .n_cpus = 8, .device_prefetch = 1
#define SHARES(compute, input, h2d, residual)                                                      \
    .compute_frac = (compute), .input_frac = (input), .h2d_frac = (h2d), .residual_frac = (residual)

static const struct row {
    const char *name;
    struct dlb_evidence evidence;
    enum dlb_verdict_class klass;
    enum dlb_severity severity;
    const char *says[4];
} rows[] = {
    {"the ceiling bears out a wait of 9%",
     {USUAL, SHARES(0.91, 0.09, 0, 0), .gain = GAIN(1.14, 1.12, 1.2)},
     DLB_V_INPUT_BOUND,
     DLB_SEVERITY_WARN,
     {" 9.0%", "1.14x faster"}},
    {"a wait of 11%, and the interval reaches below the threshold",
     {USUAL, SHARES(0.89, 0.11, 0, 0), .gain = GAIN(1.12, 1.06, 1.2)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"BORDERLINE", "measured: 1.06x to 1.20x", "at most 1.20x", " 1.11x"}},
    {"a wait of 9%, and the interval reaches above the threshold",
     {USUAL, SHARES(0.91, 0.09, 0, 0), .gain = GAIN(1.09, 1.07, 1.12)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"measured: 1.07x to 1.12x", "at most 1.12x", " 6 repetitions"}},
    {"a wait of 9% and a rest of 9.5%",
     {USUAL, SHARES(0.815, 0.09, 0, 0.095), .gain = GAIN(1.09, 1.07, 1.12)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"at most 1.12x"}},
    {"a wide interval says nothing of the most",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .gain = GAIN(2, 0.01, INFINITY)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"0.01x to more than 100x). N", "wait of 50%", " 6 repetitions"}},
    {"a gain that no wait explains",
     {USUAL, SHARES(0.99, 0.01, 0, 0), .gain = GAIN(1.5, 1.4, 1.6)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {" 1.0%", "1.40x to 1.60x"}},
    {"a gain just below the threshold, for a wait just above it",
     {USUAL, SHARES(0.89, 0.11, 0, 0), .gain = GAIN(1.095, 1.09, 1.10)},
     DLB_V_BALANCED,
     DLB_SEVERITY_OK,
     {" 11%", "at most 1.10x"}},
    {"the same of a device that computes 90%",
     {USUAL, SHARES(0.9, 0.1, 0, 0), .gain = GAIN(1.095, 1.09, 1.10)},
     DLB_V_COMPUTE_BOUND,
     DLB_SEVERITY_OK,
     {"at most 1.10x"}},
    {"an interval that is no number",
     {USUAL, SHARES(0.85, 0.15, 0, 0), .gain = GAIN(1.2, NAN, 1.3)},
     DLB_V_INPUT_BOUND,
     DLB_SEVERITY_WARN,
     {"INPUT-BOUND"}},
    /* --- one repetition has no interval: its figure is taken as known to 5% --- */
    {"one repetition, above the threshold",
     {USUAL, SHARES(0.85, 0.15, 0, 0), .gain = ONE(1.2)},
     DLB_V_INPUT_BOUND,
     DLB_SEVERITY_WARN,
     {"1.20x faster (one"}},
    {"one repetition, below the threshold",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .gain = ONE(1.05)},
     DLB_V_COMPUTE_BOUND,
     DLB_SEVERITY_OK,
     {"1.10x (one"}},
    {"one repetition, a little above the threshold",
     {USUAL, SHARES(0.87, 0.13, 0, 0), .gain = ONE(1.15)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"1.15x faster (one", "at most 1.21x", " 1.11x", " 5%"}},
    {"one repetition, a little below it",
     {USUAL, SHARES(0.93, 0.07, 0, 0), .gain = ONE(1.07)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {"1.07x faster (one", "at most 1.12x"}},
    {"compute bound, and the ceiling tells how much",
     {USUAL, SHARES(0.97, 0.03, 0, 0), .gain = GAIN(1.02, 1.01, 1.03)},
     DLB_V_COMPUTE_BOUND,
     DLB_SEVERITY_OK,
     {"at most 1.03x"}},
    {"compute bound, and the ceiling is slower",
     {USUAL, SHARES(0.97, 0.03, 0, 0), .gain = GAIN(0.98, 0.97, 0.99)},
     DLB_V_COMPUTE_BOUND,
     DLB_SEVERITY_OK,
     {"at most 1.00x"}},
    {"compute bound by its shares, and the ceiling leaves it open",
     {USUAL, SHARES(0.97, 0.03, 0, 0), .gain = GAIN(1.04, 0.95, 1.14)},
     DLB_V_BORDERLINE,
     DLB_SEVERITY_WARN,
     {" 97%", "at most 1.14x"}},
    {"balanced, and the ceiling tells how much",
     {USUAL, SHARES(0.85, 0.06, 0.05, 0.04), .gain = GAIN(1.06, 1.05, 1.07)},
     DLB_V_BALANCED,
     DLB_SEVERITY_OK,
     {"at most 1.07x"}},
};

static void test_the_gain_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct dlb_verdict v;
        dlb_judge(&row->evidence, &v);
        if (v.klass != row->klass || v.severity != row->severity)
            fail_msg("%s: %s", row->name, v.text);
        for (size_t k = 0; k < 4 && row->says[k]; k++)
            if (!strstr(v.text, row->says[k]))
                fail_msg("%s: no \"%s\" in: %s", row->name, row->says[k], v.text);
    }
}

/* From below the threshold to what a share of 20% costs: noise is why, and the text names that
 * figure. The wait proves nothing then, however long. */
static void test_noise_or_nearness(void **state)
{
    (void)state;
    static const struct {
        double input, low, high;
        bool lost;
    } wide[] = {
        {0.64, 0.94, 6.0, true},  {0.64, 1.1, 1.26, true},  {0.05, 0.9, 1.3, true},
        {0.64, 1.1, 1.24, false}, {0.09, 1.0, 1.13, false},
    };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        double input = wide[i].input, low = wide[i].low, high = wide[i].high;
        const struct dlb_evidence e = {USUAL, SHARES(1 - input, input, 0, 0),
                                       .gain = GAIN(sqrt(low * high), low, high)};
        char wait[20];
        struct dlb_verdict v;
        dlb_judge(&e, &v);
        (void)snprintf(wait, sizeof wait, "wait of %.0f%%", 100 * input);
        assert_int_equal(v.klass, DLB_V_BORDERLINE);
        assert_int_equal(dlb_gain_is_lost(&e.gain), wide[i].lost);
        assert_int_equal(strstr(v.text, " 1.25x") != NULL, wide[i].lost);
        assert_int_equal(strstr(v.text, wait) != NULL, wide[i].lost && input > 0.1);
    }
    const struct dlb_gain one = ONE(1.2), none = {.n = 0}, above = GAIN(3, 1.2, 6);
    assert_false(dlb_gain_is_lost(&one) || dlb_gain_is_lost(&none) || dlb_gain_is_lost(&above));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_gain_decides),
                                       cmocka_unit_test(test_noise_or_nearness)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
