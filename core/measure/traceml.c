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
