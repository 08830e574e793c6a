#include "core/measure/verdict_terms.h"

#include <stddef.h>

const char *dlb_verdict_code(enum dlb_verdict_class klass, enum dlb_cause cause)
{
    static const struct {
        enum dlb_verdict_class klass;
        enum dlb_cause cause;
        const char *code;
    } codes[] = {
        {DLB_V_INCOMPLETE, DLB_CAUSE_NONE, "INCOMPLETE"},
        {DLB_V_HARNESS_BOUND, DLB_CAUSE_HARNESS, "HARNESS_BOUND"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_NONE, "INPUT_BOUND"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_READ, "INPUT_BOUND_READ"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_DECODE, "INPUT_BOUND_DECODE"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_TRANSFORM, "INPUT_BOUND_TRANSFORM"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_COLLATE, "INPUT_BOUND_COLLATE"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_TRANSPORT, "INPUT_BOUND_TRANSPORT"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_ORDER, "INPUT_BOUND_ORDER"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_PIN, "INPUT_BOUND_PIN"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_CPU, "INPUT_BOUND_CPU"},
        {DLB_V_INPUT_BOUND, DLB_CAUSE_START, "INPUT_BOUND_START"},
        {DLB_V_H2D_BOUND, DLB_CAUSE_COPY, "H2D_BOUND_COPY"},
        {DLB_V_RESIDUAL_HEAVY, DLB_CAUSE_NONE, "RESIDUAL_HEAVY"},
        {DLB_V_RESIDUAL_HEAVY, DLB_CAUSE_CPU, "RESIDUAL_HEAVY_CPU"},
        {DLB_V_RESIDUAL_HEAVY, DLB_CAUSE_HOST, "RESIDUAL_HEAVY_HOST"},
        {DLB_V_BORDERLINE, DLB_CAUSE_NONE, "BORDERLINE"},
        {DLB_V_COMPUTE_BOUND, DLB_CAUSE_NONE, "COMPUTE_BOUND"},
        {DLB_V_BALANCED, DLB_CAUSE_NONE, "BALANCED"},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].klass == klass && codes[i].cause == cause)
            return codes[i].code;
    return NULL;
}

const char *dlb_verdict_class_name(enum dlb_verdict_class klass)
{
    static const char *const names[] = {
        [DLB_V_INCOMPLETE] = "INCOMPLETE",         [DLB_V_HARNESS_BOUND] = "HARNESS-BOUND",
        [DLB_V_INPUT_BOUND] = "INPUT-BOUND",       [DLB_V_H2D_BOUND] = "H2D-BOUND",
        [DLB_V_RESIDUAL_HEAVY] = "RESIDUAL-HEAVY", [DLB_V_BORDERLINE] = "BORDERLINE",
        [DLB_V_COMPUTE_BOUND] = "COMPUTE-BOUND",   [DLB_V_BALANCED] = "BALANCED",
    };
    return (unsigned)klass < sizeof names / sizeof *names ? names[klass] : "?";
}

const char *dlb_cause_name(enum dlb_cause cause)
{
    static const char *const names[] = {
        [DLB_CAUSE_NONE] = "none",       [DLB_CAUSE_READ] = "read",
        [DLB_CAUSE_DECODE] = "decode",   [DLB_CAUSE_TRANSFORM] = "transform",
        [DLB_CAUSE_COLLATE] = "collate", [DLB_CAUSE_TRANSPORT] = "transport",
        [DLB_CAUSE_ORDER] = "order",     [DLB_CAUSE_PIN] = "pin",
        [DLB_CAUSE_COPY] = "copy",       [DLB_CAUSE_CPU] = "cpu",
        [DLB_CAUSE_HOST] = "host",       [DLB_CAUSE_START] = "start",
        [DLB_CAUSE_HARNESS] = "harness",
    };
    return (unsigned)cause < sizeof names / sizeof *names ? names[cause] : "?";
}

const char *dlb_severity_name(enum dlb_severity severity)
{
    static const char *const names[] = {[DLB_SEVERITY_OK] = "ok",
                                        [DLB_SEVERITY_WARN] = "warn",
                                        [DLB_SEVERITY_CRITICAL] = "critical"};
    return (unsigned)severity < sizeof names / sizeof *names ? names[severity] : "?";
}

bool dlb_gain_is_lost(const struct dlb_gain *gain)
{
    return gain->n > 1 && gain->low <= DLB_GAIN_CLEAR && gain->high >= DLB_GAIN_CRITICAL;
}
