#include "core/measure/traceml.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static const struct {
    const char *kind, *status;
} names[] = {
    [DLB_TRACEML_NO_DATA] = {"NO_DATA", "NO DATA"},
    [DLB_TRACEML_IS_WARMUP] = {"WARMUP", "WARMUP"},
    [DLB_TRACEML_BALANCED] = {"BALANCED", "BALANCED"},
    [DLB_TRACEML_INPUT_BOUND] = {"INPUT_BOUND", "INPUT-BOUND"},
    [DLB_TRACEML_H2D_BOUND] = {"H2D_BOUND", "H2D-BOUND"},
    [DLB_TRACEML_RESIDUAL_HEAVY] = {"RESIDUAL_HEAVY", "RESIDUAL-HEAVY"},
    [DLB_TRACEML_COMPUTE_BOUND] = {"COMPUTE_BOUND", "COMPUTE-BOUND"},
};

const char *dlb_traceml_kind_name(enum dlb_traceml_kind kind)
{
    return names[kind].kind;
}

const char *dlb_traceml_status_name(enum dlb_traceml_kind kind)
{
    return names[kind].status;
}

/* The largest share is the most severe, too; of equal ones the first wins. */
static void classify_overhead(const struct dlb_traceml_step *step, struct dlb_traceml_class *out)
{
    const struct {
        enum dlb_traceml_kind kind;
        double ms;
    } parts[] = {{DLB_TRACEML_INPUT_BOUND, step->input_ms},
                 {DLB_TRACEML_H2D_BOUND, step->h2d_ms},
                 {DLB_TRACEML_RESIDUAL_HEAVY, step->residual_ms}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        double share = parts[i].ms / step->step_ms;
        if (!(share >= DLB_TRACEML_WARN) || share <= out->share)
            continue;
        out->kind = parts[i].kind;
        out->share = share;
    }
    if (out->kind == DLB_TRACEML_BALANCED)
        return;
    bool sure = step->n_steps >= DLB_TRACEML_SURE_STEPS;
    out->severity = sure && out->share >= DLB_TRACEML_CRIT ? "crit" : "warn";
}

void dlb_traceml_classify(const struct dlb_traceml_step *step, struct dlb_traceml_class *out)
{
    *out = (struct dlb_traceml_class){DLB_TRACEML_NO_DATA, "info", (double)NAN};
    if (!(step->step_ms > 0) || step->n_steps == 0)
        return;
    out->kind =
        step->n_steps < DLB_TRACEML_MIN_STEPS ? DLB_TRACEML_IS_WARMUP : DLB_TRACEML_BALANCED;
    if (out->kind == DLB_TRACEML_IS_WARMUP)
        return;
    classify_overhead(step, out);
    double compute = step->compute_ms / step->step_ms;
    if (out->kind == DLB_TRACEML_BALANCED && compute >= DLB_TRACEML_COMPUTE) {
        out->kind = DLB_TRACEML_COMPUTE_BOUND;
        out->share = compute;
    }
}

const char *dlb_traceml_utilisation(double busy_frac)
{
    if (!isfinite(busy_frac) || busy_frac > DLB_TRACEML_MODERATE)
        return NULL;
    return busy_frac < DLB_TRACEML_LOW ? "LOW" : "MODERATE";
}

/* A stretch of the points: its mean, and the standard error of that. */
struct band {
    double mean, error;
};

static struct band band_of(const double *bytes, uint32_t n, double from, double to)
{
    uint32_t first = (uint32_t)floor(n * from), end = (uint32_t)ceil(n * to);
    double sum = 0, squares = 0, count = end - first;
    for (uint32_t i = first; i < end; i++)
        sum += bytes[i];
    for (uint32_t i = first; i < end; i++)
        squares += (bytes[i] - sum / count) * (bytes[i] - sum / count);
    return (struct band){sum / count, sqrt(squares / (count - 1) / count)};
}

static bool grew(struct band from, struct band to)
{
    return to.mean - from.mean > 3 * hypot(from.error, to.error);
}

void dlb_traceml_classify_memory(const double *bytes, uint32_t n, struct dlb_traceml_memory *out)
{
    *out = (struct dlb_traceml_memory){(double)NAN, (double)NAN, (double)NAN, NULL};
    if (n < DLB_TRACEML_MIN_POINTS)
        return;
    struct band early = band_of(bytes, n, 0.15, 0.25), middle = band_of(bytes, n, 0.45, 0.55),
                recent = band_of(bytes, n, 0.9, 1);
    double growth = recent.mean - early.mean;
    out->early_bytes = early.mean;
    out->middle_bytes = middle.mean;
    out->recent_bytes = recent.mean;
    if (grew(early, middle) && grew(middle, recent) &&
        growth > DLB_TRACEML_LEAST_GROWTH * early.mean)
        out->class = growth >= DLB_TRACEML_CREEP_BYTES ? "CREEP" : "RISING";
}
