/* The classes of TraceML (its diagnostics/DIAGNOSIS.md, version 0.5), for one host.
 *
 * Floor 1. Pure; any thread. NaN: not measured. Differences: copies count where the device waited
 * for them, on whichever clock, because that is what dlbench measures; and memory must grow by more
 * than its own scatter before it is called rising. */
#ifndef DLB_CORE_MEASURE_TRACEML_H
#define DLB_CORE_MEASURE_TRACEML_H

#include <stdint.h>

#define DLB_TRACEML_WARN 0.10
#define DLB_TRACEML_CRIT 0.20
#define DLB_TRACEML_COMPUTE 0.90
#define DLB_TRACEML_MIN_STEPS 2   /* with fewer: WARMUP */
#define DLB_TRACEML_SURE_STEPS 20 /* with fewer nothing is critical */
#define DLB_TRACEML_LOW 0.30      /* utilisation below: LOW */
#define DLB_TRACEML_MODERATE 0.70 /* up to this: MODERATE */

enum dlb_traceml_kind {
    DLB_TRACEML_NO_DATA,
    DLB_TRACEML_IS_WARMUP,
    DLB_TRACEML_BALANCED,
    DLB_TRACEML_INPUT_BOUND,
    DLB_TRACEML_H2D_BOUND,
    DLB_TRACEML_RESIDUAL_HEAVY,
    DLB_TRACEML_COMPUTE_BOUND,
};

/* The mean step: parts of step_ms. */
struct dlb_traceml_step {
    double step_ms, input_ms, h2d_ms, compute_ms, residual_ms;
    uint64_t n_steps;
};

struct dlb_traceml_class {
    enum dlb_traceml_kind kind;
    const char *severity; /* "info", "warn", "crit" */
    double share;         /* of the step, of the part that decided; NaN: none did */
};

void dlb_traceml_classify(const struct dlb_traceml_step *step, struct dlb_traceml_class *out);

/* Memory over a run. RISING: it grew from an early tenth of the run to the middle one to the last
 * one, each time by more than its scatter. CREEP: by DLB_TRACEML_CREEP_BYTES and more. */
#define DLB_TRACEML_MIN_POINTS 50
#define DLB_TRACEML_CREEP_BYTES 1073741824.0 /* 1 GiB */
#define DLB_TRACEML_LEAST_GROWTH 0.01        /* of the early memory: less is none */

struct dlb_traceml_memory {
    double early_bytes, middle_bytes, recent_bytes; /* means; NaN: too few points */
    const char *class;                              /* "RISING", "CREEP"; NULL: neither. Static */
};

/* Points in their order, equally far apart. */
void dlb_traceml_classify_memory(const double *bytes, uint32_t n, struct dlb_traceml_memory *out);

/* "INPUT_BOUND" and "INPUT-BOUND". Static. */
const char *dlb_traceml_kind_name(enum dlb_traceml_kind kind);
const char *dlb_traceml_status_name(enum dlb_traceml_kind kind);

/* "LOW", "MODERATE"; NULL: above, or not known. Static. */
const char *dlb_traceml_utilisation(double busy_frac);

#endif
