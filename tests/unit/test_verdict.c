/* The rule, as a table of evidences. */
#include "core/measure/verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GAIN(at_median, at_low, at_high)                                                           \
    {                                                                                              \
        .median = (at_median), .low = (at_low), .high = (at_high), .n = 6                          \
    }
#define STAGES(r, d, t, c, credit)                                                                 \
    {                                                                                              \
        [DLB_WS_READ] = (r), [DLB_WS_DECODE] = (d), [DLB_WS_TRANSFORM] = (t),                      \
        [DLB_WS_COLLATE] = (c), [DLB_WS_WAIT_CREDIT] = (credit)                                    \
    }
#define USUAL                                                                                      \
    .complete = true, .step_ns = 10e6, .num_workers = 2, .n_cpus = 8, .pin_memory = true,          \
    .device_prefetch = 1, .worker_runqueue_ns = 0, .input_wait_ns = 1e9
#define SHARES(compute, input, h2d, residual)                                                      \
    .compute_frac = (compute), .input_frac = (input), .h2d_frac = (h2d), .residual_frac = (residual)

struct row {
    const char *name;
    struct dlb_evidence evidence;
    enum dlb_verdict_class klass;
    enum dlb_cause cause;
    enum dlb_severity severity;
    const char *says[4]; /* must be in the text */
};

/* A row overrides what it does not share with the usual one. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct row rows[] = {
    /* --- whether the figures bear a judgement --- */
    {"nothing measured",
     {SHARES(0.1, 0.9, 0, 0)},
     DLB_V_INCOMPLETE,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_WARN,
     {"INCOMPLETE", "run.epochs"}},
    {"a share is not a number",
     {USUAL, SHARES(0.1, NAN, 0, 0)},
     DLB_V_INCOMPLETE,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_WARN,
     {"INCOMPLETE"}},
    {"unaccounted time",
     {USUAL, SHARES(0.1, 0.9, 0, 0), .unaccounted_frac = 0.011},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_WARN,
     {"HARNESS-BOUND", "1.1%", "too much"}},
    {"unaccounted time, in one repetition only",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .unaccounted_frac = 0.001, .unaccounted_max_frac = 0.5},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"COMPUTE-BOUND"}},
    {"unaccounted time, worse in one repetition",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .unaccounted_frac = 0.02, .unaccounted_max_frac = 0.07},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_WARN,
     {" 2.0% ", "7.0%"}},
    {"unaccounted time within bounds",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .unaccounted_frac = 0.01},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"COMPUTE-BOUND"}},
    {"bookkeeping",
     {USUAL, SHARES(0.9, 0.1, 0, 0), .account_frac = 0.021},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_WARN,
     {"2.1%"}},
    {"bookkeeping, badly",
     {USUAL, SHARES(0.9, 0.1, 0, 0), .account_frac = 0.4},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_CRITICAL,
     {"40%"}},
    {"1% of the samples was skipped",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .n_lost = 2, .n_lost_of = 200, .first_lost = "d/x.jpg: cut"},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_WARN,
     {"COMPUTE-BOUND: 1.0%", "2 of 200", "d/x.jpg: cut", "inspect"}},
    {"a fifth of the samples was skipped",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .n_lost = 40, .n_lost_of = 200},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"20%", "40 of 200"}},
    {"a share that is worse stays",
     {USUAL, SHARES(0.1, 0.9, 0, 0), .n_lost = 10, .n_lost_of = 200},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"5.0%", "10 of 200"}},
    {"fewer than 1% were skipped",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .n_lost = 1, .n_lost_of = 200},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"COMPUTE-BOUND"}},
    {"short steps are given more",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .step_ns = 50e3, .unaccounted_frac = 0.02,
      .account_frac = 0.025},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"COMPUTE-BOUND"}},
    {"short steps are not given everything",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .step_ns = 50e3, .unaccounted_frac = 0.03,
      .account_frac = 0.025},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_WARN,
     {"HARNESS-BOUND"}},
    /* --- what a null source shows of the harness --- */
    {"the harness takes too much of the step",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .harness_frac = 0.021},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_WARN,
     {"2.1%", "is blamed"}},
    {"the harness takes little of it, and leaves room",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .harness_frac = 0.02, .harness_headroom = 5.0,
      .worker_stage_ns = STAGES(9, 1, 0, 0, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {"INPUT-BOUND"}},
    {"the harness leaves too little room",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .harness_frac = 0.001, .harness_headroom = 4.9},
     DLB_V_HARNESS_BOUND,
     DLB_CAUSE_HARNESS,
     DLB_SEVERITY_WARN,
     {" 4.9x ", "is blamed"}},
    {"no null source was run",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .harness_frac = NAN, .harness_headroom = NAN,
      .worker_stage_ns = STAGES(9, 1, 0, 0, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {"INPUT-BOUND"}},
    /* --- input --- */
    {"no workers",
     {USUAL, SHARES(0.38, 0.62, 0, 0), .num_workers = 0, .gain = GAIN(2.6, 2.5, 2.7),
      .worker_stage_ns = STAGES(1e8, 7.1e8, 1.5e8, 4e7, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_DECODE,
     DLB_SEVERITY_CRITICAL,
     {" 62% ", " 2.6x faster (measured: 2.5x", "num_workers = 1", "decode (71%)"}},
    {"no ceiling: the gain is not known",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_DECODE,
     DLB_SEVERITY_CRITICAL,
     {" 50% ", " 8 CPUs", " 2 workers", "decode (70%)"}},
    {"warns below a fifth",
     {USUAL, SHARES(0.85, 0.15, 0, 0), .worker_stage_ns = STAGES(5, 1, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_WARN,
     {"15%", "read (62%)", "prefetch_factor"}},
    {"transform",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .worker_stage_ns = STAGES(1, 3, 4, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_TRANSFORM,
     DLB_SEVERITY_CRITICAL,
     {"transform (44%)", "augmentation"}},
    {"collate, every CPU in use",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 8, .worker_stage_ns = STAGES(1, 1, 1, 4, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_COLLATE,
     DLB_SEVERITY_CRITICAL,
     {"collate (57%)", " 8 CPUs ", "u8"}},
    {"batches take longer to be handed over than to be made",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .torch = true, .sample_ns = 0.43e6, .transport_ns = 1.4e6,
      .worker_stage_ns = STAGES(1, 0, 0, 17, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_TRANSPORT,
     DLB_SEVERITY_CRITICAL,
     {"1.4 ms", "0.43 ms", "num_workers = 0"}},
    {"no stage was timed",
     {USUAL, SHARES(0.5, 0.5, 0, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"Try: more workers"}},
    {"in-order delivery holds the others up",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 4, .order_wait_ns = 0.6e9,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 10)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_ORDER,
     DLB_SEVERITY_CRITICAL,
     {"50%", "prefetch_factor", "in_order=False"}},
    {"out of order, but nobody was held up",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 4, .order_wait_ns = 0.6e9,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0.1)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_DECODE,
     DLB_SEVERITY_CRITICAL,
     {"decode"}},
    {"workers without a core",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 8, .n_cpus = 2, .worker_runqueue_ns = 6,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_CPU,
     DLB_SEVERITY_CRITICAL,
     {"60%", " 8 workers ", " 2 CPUs", "decode (70%)"}},
    {"workers without a core, which looks like one slow worker",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 4, .n_cpus = 2, .order_wait_ns = 0.6e9,
      .worker_runqueue_ns = 6, .worker_stage_ns = STAGES(1, 7, 1, 1, 10)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_CPU,
     DLB_SEVERITY_CRITICAL,
     {"60%", " 4 workers ", " 2 CPUs", "more CPUs"}},
    {"one slow worker, with cores to spare",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 4, .order_wait_ns = 0.6e9,
      .worker_runqueue_ns = 2, .worker_stage_ns = STAGES(1, 7, 1, 1, 10)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_ORDER,
     DLB_SEVERITY_CRITICAL,
     {"50%", "in_order=False"}},
    {"something else has the cores",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .worker_runqueue_ns = 3,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_CPU,
     DLB_SEVERITY_CRITICAL,
     {" 8 CPUs ", " 2 workers", "30%", "loader.bind"}},
    {"run queue not measured",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 8, .n_cpus = 2, .worker_runqueue_ns = NAN,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_DECODE,
     DLB_SEVERITY_CRITICAL,
     {"more CPUs"}},
    {"the pin thread lags",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 4, .pin_stage_ns = 3,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_PIN,
     DLB_SEVERITY_CRITICAL,
     {"pin_mode = \"direct\""}},
    {"the pin thread keeps up",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .num_workers = 4, .pin_stage_ns = 2,
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_DECODE,
     DLB_SEVERITY_CRITICAL,
     {"decode"}},
    /* --- what the reads were of --- */
    {"reads of a warm page cache",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .cache = DLB_CACHE_WARM,
      .worker_stage_ns = STAGES(7, 1, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {"cache; storage", " 8 CPUs ", "more workers"}},
    {"reads of storage",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .cache = DLB_CACHE_COLD,
      .worker_stage_ns = STAGES(7, 1, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {"from storage.", "prefetch_factor", "faster storage"}},
    {"reads of both",
     {USUAL, SHARES(0.5, 0.5, 0, 0), .cache = DLB_CACHE_MIXED,
      .worker_stage_ns = STAGES(7, 1, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {"files, some"}},
    /* --- the ceiling has the last word on input --- */
    {"the ceiling refutes, and copies are next",
     {USUAL, SHARES(0.60, 0.25, 0.15, 0), .gain = GAIN(1.02, 0.97, 1.05)},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_WARN,
     {"H2D-BOUND", "15%"}},
    {"the ceiling bears it out",
     {USUAL, SHARES(0.89, 0.11, 0, 0), .gain = GAIN(1.14, 1.12, 1.2),
      .worker_stage_ns = STAGES(1, 7, 1, 1, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_DECODE,
     DLB_SEVERITY_WARN,
     {"1.14x faster (measured: 1.12x to 1.20x)"}},
    /* --- copies --- */
    {"pageable copies, nothing overlaps",
     {USUAL, SHARES(0.6, 0.05, 0.3, 0.05), .pin_memory = false, .pageable_copy = true,
      .device_prefetch = 0},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_CRITICAL,
     {"30%", "pin_memory=True", "non_blocking=True", "device.prefetch = 1"}},
    {"pinned copies, nothing overlaps",
     {USUAL, SHARES(0.85, 0, 0.15, 0), .device_prefetch = 0},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_WARN,
     {"device.prefetch = 1"}},
    {"pinned copies that overlap and are too big",
     {USUAL, SHARES(0.5, 0.05, 0.4, 0.05)},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_CRITICAL,
     {"fewer bytes"}},
    {"the larger share names the class",
     {USUAL, SHARES(0.4, 0.25, 0.3, 0.05), .gain = GAIN(2, 1.9, 2.1)},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_CRITICAL,
     {"H2D-BOUND"}},
    /* --- copies that were late because their batches were --- */
    {"the loader sets the pace",
     {USUAL, SHARES(0.03, 0.30, 0.67, 0), .late_copy_frac = 0.66, .gain = GAIN(30, 29, 31),
      .worker_stage_ns = STAGES(9, 1, 0, 0, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {" 30%", " 30x faster", " 66%", "link"}},
    {"the loader sets the pace now and then",
     {USUAL, SHARES(0.4, 0.1, 0.5, 0), .late_copy_frac = 0.15},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_CRITICAL,
     {"fewer bytes"}},
    {"a part that is more than the whole",
     {USUAL, SHARES(0.7, 0, 0.2, 0.1), .late_copy_frac = 0.9,
      .worker_stage_ns = STAGES(9, 1, 0, 0, 0)},
     DLB_V_INPUT_BOUND,
     DLB_CAUSE_READ,
     DLB_SEVERITY_CRITICAL,
     {"another 20%"}},
    {"which of the copies were late is not known",
     {USUAL, SHARES(0.03, 0.30, 0.67, 0), .late_copy_frac = NAN},
     DLB_V_H2D_BOUND,
     DLB_CAUSE_COPY,
     DLB_SEVERITY_CRITICAL,
     {"67%"}},
    /* --- the rest --- */
    {"epoch starts",
     {USUAL, SHARES(0.7, 0, 0, 0.3), .epoch_frac = 0.25},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"epochs (25%)", "persistent_workers=True"}},
    {"epoch starts, workers kept",
     {USUAL, SHARES(0.7, 0, 0, 0.3), .epoch_frac = 0.25, .persistent_workers = true},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"longer epochs"}},
    {"epoch starts, nobody to keep",
     {USUAL, SHARES(0.7, 0, 0, 0.3), .epoch_frac = 0.25, .num_workers = 0},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"longer epochs"}},
    {"late wake-ups",
     {USUAL, SHARES(0.88, 0, 0, 0.12), .oversleep_frac = 0.1, .device_prefetch = 0},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_CPU,
     DLB_SEVERITY_WARN,
     {"(10%)", "quiet machine", "device.prefetch = 1"}},
    {"more workers than CPUs",
     {USUAL, SHARES(0.8, 0, 0, 0.2), .num_workers = 2, .n_cpus = 2},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_CPU,
     DLB_SEVERITY_CRITICAL,
     {" 2 workers ", " 2 CPUs", "fewer workers"}},
    {"the training loop's own CPU time",
     {USUAL, SHARES(0.8, 0, 0, 0.2), .host_frac = 0.7, .device_prefetch = 1},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_HOST,
     DLB_SEVERITY_CRITICAL,
     {"device.host_busy_frac", "70%", "a core for the loop"}},
    {"steps in lockstep",
     {USUAL, SHARES(0.8, 0, 0, 0.2), .device_prefetch = 0},
     DLB_V_RESIDUAL_HEAVY,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_CRITICAL,
     {"device.prefetch = 1"}},
    /* --- nothing is wrong --- */
    {"compute bound",
     {USUAL, SHARES(0.97, 0.01, 0.01, 0.01), .num_workers = 4,
      .worker_stage_ns = STAGES(1, 3, 0, 0, 12)},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"97%", " 4 workers ", " 75% ", "emulated accelerator"}},
    {"balanced",
     {USUAL, SHARES(0.85, 0.06, 0.05, 0.04)},
     DLB_V_BALANCED,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"85%", " 6.0%", " 5.0%", " 4.0%"}},
    {"on a real device",
     {USUAL, SHARES(0.95, 0.05, 0, 0), .gpu = true},
     DLB_V_COMPUTE_BOUND,
     DLB_CAUSE_NONE,
     DLB_SEVERITY_OK,
     {"the GPU ", " 95%"}},
};
#pragma GCC diagnostic pop

static void the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct dlb_verdict v;
        dlb_judge(&row->evidence, &v);
        if (v.klass != row->klass || v.cause != row->cause || v.severity != row->severity)
            fail_msg("%s: %s, cause %s, %s: %s", row->name, dlb_verdict_class_name(v.klass),
                     dlb_cause_name(v.cause), dlb_severity_name(v.severity), v.text);
        for (size_t s = 0; s < 4 && row->says[s]; s++)
            if (!strstr(v.text, row->says[s]))
                fail_msg("%s: no \"%s\" in: %s", row->name, row->says[s], v.text);
        if (getenv("DLB_SHOW_TEXTS"))
            print_message("%s\n", v.text);
    }
}

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

    static const char *const causes[] = {"none",    "read",      "decode", "transform",
                                         "collate", "transport", "order",  "pin",
                                         "copy",    "cpu",       "host",   "harness"};
    for (int i = 0; i <= DLB_CAUSE_HARNESS; i++)
        assert_string_equal(dlb_cause_name((enum dlb_cause)i), causes[i]);
    assert_string_equal(dlb_severity_name(DLB_SEVERITY_OK), "ok");
    assert_string_equal(dlb_severity_name(DLB_SEVERITY_WARN), "warn");
    assert_string_equal(dlb_severity_name(DLB_SEVERITY_CRITICAL), "critical");
}

/* Each pair of class and cause that the rule gives has a code of its own; no other pair has one. */
static void codes(void **state)
{
    (void)state;
    const char *seen[64];
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_non_null(dlb_verdict_code(rows[i].klass, rows[i].cause));
    for (int klass = 0; klass <= DLB_V_BALANCED; klass++)
        for (int cause = 0; cause <= DLB_CAUSE_HARNESS; cause++) {
            const char *code =
                dlb_verdict_code((enum dlb_verdict_class)klass, (enum dlb_cause)cause);
            for (size_t k = 0; code && k < n; k++)
                assert_string_not_equal(code, seen[k]);
            if (code)
                seen[n++] = code;
        }
    assert_int_equal(n, 18);
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
        cmocka_unit_test(the_rule),
        cmocka_unit_test(names),
        cmocka_unit_test(codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
