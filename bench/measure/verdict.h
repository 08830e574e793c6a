/* The verdict: what the device's time went into, and whose fault it is.
 *
 * Floor 1. Pure functions, any thread.
 *
 * It is about the *device's* window, not the host's wall clock: work that hides behind compute binds nobody.
 *   compute  = busy / window
 *   input    = compute idle while the consumer waited for a batch / window
 *   h2d      = compute idle while a copy ran / window
 *   residual = the rest: scheduling, oversleep, epoch start
 * Thresholds are TraceML's (a share >= 10% warns, >= 20% is critical; compute >= 90% is COMPUTE-BOUND), applied to shares of
 * the device's window instead of the step's wall clock. */
#ifndef DLB_MEASURE_VERDICT_H
#define DLB_MEASURE_VERDICT_H

#include "bench/measure/meters.h"
#include "bench/measure/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_SHARE_WARN 0.10
#define DLB_SHARE_CRITICAL 0.20
#define DLB_COMPUTE_BOUND 0.90
#define DLB_CEILING_CLEAR 1.05      /* lower bound of ceiling / measured that INPUT-BOUND needs */
#define DLB_UNACCOUNTED_MAX 0.01    /* of the consumer's wall clock ... */
#define DLB_UNACCOUNTED_STEP_NS 100000 /* ... for steps at least this long: shorter ones are judged against the harness */

enum dlb_verdict_class {
    DLB_V_INCOMPLETE, /* no measured window: too few batches, failed or interrupted */
    DLB_V_HARNESS_BOUND,
    DLB_V_INPUT_BOUND,
    DLB_V_H2D_BOUND,
    DLB_V_RESIDUAL_HEAVY,
    DLB_V_COMPUTE_BOUND,
    DLB_V_BALANCED,
};

enum dlb_cause {
    DLB_CAUSE_NONE,
    DLB_CAUSE_READ,
    DLB_CAUSE_DECODE,
    DLB_CAUSE_TRANSFORM,
    DLB_CAUSE_COLLATE,
    DLB_CAUSE_ORDER, /* head-of-line blocking: other workers had batches ready */
    DLB_CAUSE_PIN,
    DLB_CAUSE_COPY,
    DLB_CAUSE_CPU,   /* workers were runnable but had no core */
    DLB_CAUSE_HARNESS,
};

enum dlb_severity { DLB_SEVERITY_OK, DLB_SEVERITY_WARN, DLB_SEVERITY_CRITICAL };

/* Everything that judging needs; the caller fills it from a cell's repetitions (medians). Fractions are of the window. */
struct dlb_evidence {
    bool complete;                      /* there is a measured window */
    double compute_frac, input_frac, h2d_frac, residual_frac;
    double unaccounted_frac;            /* of the consumer's wall clock; maximum over repetitions */
    double step_ns;                     /* median step on the device */
    double account_frac;                /* consumer's `account` stage / window */
    struct dlb_estimate ceiling_ratio;  /* ceiling / measured; n == 0: no ceiling was measured */
    uint32_t num_workers, n_cpus;       /* CPUs that the process may run on (quota included, rounded up) */
    double worker_stage_ns[DLB_WS_COUNT]; /* sums over workers and the measured run */
    double pin_stage_ns;                /* as in worker_stage_ns[DLB_WS_PIN], when a pin thread ran */
    double worker_runqueue_ns;          /* summed run-queue wait of the workers (schedstat); NaN: not measured */
    double order_wait_ns;               /* input wait while another worker's batch was ready */
    double input_wait_ns;               /* the consumer's whole input wait */
    bool pin_memory, pageable_copy;     /* what the copies were */
    uint32_t device_prefetch;
};

struct dlb_verdict {
    enum dlb_verdict_class klass;
    enum dlb_cause cause;
    enum dlb_severity severity;
    char text[768]; /* sentences for a newcomer: what, by how much, why, what to try next */
};

void dlb_judge(const struct dlb_evidence *evidence, struct dlb_verdict *out);

/* "INPUT-BOUND", "decode", "critical". Static. */
const char *dlb_verdict_class_name(enum dlb_verdict_class klass);
const char *dlb_cause_name(enum dlb_cause cause);
const char *dlb_severity_name(enum dlb_severity severity);

#endif
