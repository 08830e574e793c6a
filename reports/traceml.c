#include "reports/traceml.h"

#include "core/base/json.h"
#include "core/measure/traceml.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct metric {
    const char *name;
    double value;
};

/* A section: what all of them have in common. */
struct section {
    const char *title, *index_by, *window;
    const struct metric *metrics;
    size_t n_metrics;
    uint64_t n_steps; /* 0: it has none */
    const char *clock, *unit_key, *unit;
    json_t *diagnosis; /* stolen */
};

static json_t *diagnosis_json(const char *kind, const char *status, const char *severity,
                              const char *summary, const char *action, double share)
{
    json_t *score = dlb_json_real_or_null(share), *percent = dlb_json_real_or_null(share * 100);
    return dlb_json_made(json_pack("{ss, ss, ss, ss, ss, sn, sn, so, so, sn, s[], s{}}", "kind",
                                   kind, "status", status, "severity", severity, "summary", summary,
                                   "action", action, "metric", "phase", "score", score, "share_pct",
                                   percent, "skew_pct", "ranks", "evidence"));
}

static json_t *values_json(const struct section *s, bool points)
{
    json_t *out = dlb_json_made(json_object());
    for (size_t i = 0; i < s->n_metrics; i++) {
        json_t *value = dlb_json_real_or_null(s->metrics[i].value);
        bool known = !json_is_null(value);
        if (points)
            value = dlb_json_made(json_pack("{so, so}", "value", value, "idx",
                                            known ? json_string("0") : json_null()));
        dlb_json_put(out, s->metrics[i].name, value);
    }
    return out;
}

static json_t *window_json(const struct section *s)
{
    bool steps = s->n_steps > 0;
    json_t *out = dlb_json_made(json_pack("{ss, ss, sn}", "kind", s->window, "alignment",
                                          steps ? "common_steps" : "none", "samples"));
    dlb_json_put(out, "steps_analyzed", steps ? json_integer((json_int_t)s->n_steps) : json_null());
    dlb_json_put(out, "start_step", steps ? json_integer(1) : json_null());
    dlb_json_put(out, "end_step", steps ? json_integer((json_int_t)s->n_steps) : json_null());
    dlb_json_put(out, "completed_step", steps ? json_integer((json_int_t)s->n_steps) : json_null());
    if (s->clock)
        dlb_json_put(out, "diagnosis_clock", json_string(s->clock));
    return out;
}

static json_t *metadata_json(const struct section *s)
{
    json_t *names = dlb_json_made(json_array());
    for (size_t i = 0; i < s->n_metrics; i++)
        dlb_json_append(names, json_string(s->metrics[i].name));
    return dlb_json_made(json_pack(
        "{ss, sn, sn, si, si, ss, sb, si, si, si, sI, so, so}", "mode", "single_node", "duration_s",
        "samples", "nodes_expected", 1, "nodes_observed", 1, "nodes_coverage", "1/1",
        "nodes_partial", 0, "gpus_observed", 0, "global_ranks_seen", 1, "global_ranks_used", 1,
        "training_total_steps", (json_int_t)s->n_steps, "training_latest_step",
        s->n_steps ? json_integer((json_int_t)s->n_steps) : json_null(), "section_metric_names",
        names));
}

static json_t *section_json(const struct section *s)
{
    char card[160];
    json_t *identity = dlb_json_made(json_pack("{si, si, si, sn, si, si}", "global_rank", 0,
                                               "local_rank", 0, "node_rank", 0, "hostname",
                                               "local_world_size", 1, "world_size", 1));
    json_t *rows = dlb_json_made(
        json_pack("{s{so, so}}", "0", "identity", identity, "metrics", values_json(s, false)));
    json_t *units = dlb_json_made(json_object());
    dlb_json_put(units, s->unit_key, json_string(s->unit));
    (void)snprintf(card, sizeof(card), "%s\n- Diagnosis: %s", s->title,
                   dlb_json_text(s->diagnosis, "status"));
    return dlb_json_made(json_pack(
        "{so, so, s[O], s{ss, so, so, so, so}, s{ss, so}, so, ss}", "metadata", metadata_json(s),
        "diagnosis", s->diagnosis, "issues", s->diagnosis, "global", "index_by", s->index_by,
        "window", window_json(s), "average", values_json(s, false), "median", values_json(s, true),
        "worst", values_json(s, true), "groups", "by", s->index_by, "rows", rows, "units", units,
        "card", card));
}

static double sum_ns(const json_t *stages, const char *name)
{
    return dlb_json_number(json_object_get(stages, name), "sum_ns");
}

/* The parts of a mean step on the device's clock, which add up to it. */
static void take_step(const json_t *cell, struct dlb_traceml_step *out)
{
    const json_t *device = json_object_get(cell, "device_stages");
    out->n_steps = dlb_json_u64(json_object_get(device, "compute"), "count", 0);
    double each = out->n_steps > 0 ? 1e-6 / (double)out->n_steps : (double)NAN;
    out->compute_ms = sum_ns(device, "compute") * each;
    out->h2d_ms = sum_ns(device, "exposed_copy") * each;
    out->input_ms = sum_ns(device, "idle_input") * each;
    out->residual_ms = sum_ns(device, "idle_other") * each;
    out->step_ms = out->compute_ms + out->h2d_ms + out->input_ms + out->residual_ms;
}

static const char *action_of(enum dlb_traceml_kind kind)
{
    switch (kind) {
    case DLB_TRACEML_INPUT_BOUND:
        return "Sweep the loader's settings: dlbench sweep.";
    case DLB_TRACEML_H2D_BOUND:
        return "Pin memory and overlap copies.";
    case DLB_TRACEML_RESIDUAL_HEAVY:
        return "Look at the training loop and the host.";
    case DLB_TRACEML_IS_WARMUP:
    case DLB_TRACEML_NO_DATA:
        return "Use a longer run for a stable timing diagnosis.";
    case DLB_TRACEML_COMPUTE_BOUND:
    case DLB_TRACEML_BALANCED:
        break;
    }
    return "Nothing to do for the loader.";
}

static json_t *step_diagnosis(const struct dlb_traceml_class *class)
{
    char summary[120];
    if (isfinite(class->share))
        (void)snprintf(summary, sizeof(summary), "%.1f%% of the step decide.", class->share * 100);
    else
        (void)snprintf(summary, sizeof(summary), "No part of the step decides.");
    return diagnosis_json(dlb_traceml_kind_name(class->kind), dlb_traceml_status_name(class->kind),
                          class->severity, summary, action_of(class->kind), class->share);
}

static json_t *step_time_json(const json_t *cell, const struct dlb_traceml_step *step, bool gpu,
                              const struct dlb_traceml_class *class)
{
    const double none = (double)NAN;
    double traced = step->step_ms - step->input_ms;
    double fetch = sum_ns(json_object_get(cell, "consumer_stages"), "input_wait") * 1e-6 /
                   (double)step->n_steps;
    const struct metric metrics[] = {
        {"input_wait_ms", step->input_ms},
        {"step_time_ms", step->step_ms},
        {"traced_step_time_ms", traced},
        {"step_time_cpu_ms", gpu ? none : step->step_ms},
        {"step_time_gpu_ms", gpu ? step->step_ms : none},
        {"traced_step_time_cpu_ms", gpu ? none : traced},
        {"traced_step_time_gpu_ms", gpu ? traced : none},
        {"dataloader_fetch_cpu_ms", fetch},
        {"h2d_ms", step->h2d_ms},
        {"compute_ms", step->compute_ms},
        {"residual_ms", step->residual_ms},
        {"forward_ms", none},
        {"backward_ms", none},
        {"optimizer_ms", none},
    };
    struct section section = {.title = "Step Time",
                              .index_by = "global_rank",
                              .window = "step_window",
                              .metrics = metrics,
                              .n_metrics = sizeof(metrics) / sizeof(*metrics),
                              .n_steps = step->n_steps,
                              .clock = gpu ? "gpu" : "cpu",
                              .unit_key = "time",
                              .unit = "ms",
                              .diagnosis = step_diagnosis(class)};
    return section_json(&section);
}

/* TraceML's utilisation is NVML's, and so is this: null without a GPU. */
static json_t *system_json(const json_t *doc, const json_t *cell)
{
    const json_t *nvml =
        json_object_get(json_object_get(json_object_get(doc, "device"), "gpu"), "nvml");
    double busy = dlb_json_number(nvml, "utilization_frac");
    const struct metric metrics[] = {
        {"cpu_percent", dlb_json_number(cell, "machine_busy_frac") * 100},
        {"ram_bytes", (double)NAN},
        {"gpu_util_percent", busy * 100},
        {"gpu_mem_percent", dlb_json_number(nvml, "memory_utilization_frac") * 100},
    };
    const char *band = dlb_traceml_utilisation(busy);
    bool low = band && strcmp(band, "LOW") == 0;
    json_t *diagnosis =
        band ? diagnosis_json(low ? "LOW_GPU_UTILIZATION" : "MODERATE_GPU_UTILIZATION",
                              low ? "LOW GPU UTIL" : "MODERATE GPU UTIL", "info",
                              "The GPU was not always busy.", "See the step time.", busy)
             : diagnosis_json("NORMAL", "NORMAL", "info", "No pressure was measured.", "",
                              (double)NAN);
    struct section section = {.title = "System",
                              .index_by = "node_rank",
                              .window = "sample_window",
                              .metrics = metrics,
                              .n_metrics = sizeof(metrics) / sizeof(*metrics),
                              .unit_key = "memory",
                              .unit = "bytes",
                              .diagnosis = diagnosis};
    return section_json(&section);
}

static json_t *process_json(void)
{
    const struct metric metrics[] = {{"cpu_percent", (double)NAN}, {"ram_bytes", (double)NAN}};
    struct section section = {.title = "Process",
                              .index_by = "global_rank",
                              .window = "sample_window",
                              .metrics = metrics,
                              .n_metrics = sizeof(metrics) / sizeof(*metrics),
                              .unit_key = "memory",
                              .unit = "bytes",
                              .diagnosis = diagnosis_json("NO_DATA", "NO DATA", "info",
                                                          "dlbench writes no such figures.", "",
                                                          (double)NAN)};
    return section_json(&section);
}

static json_t *step_memory_json(void)
{
    const struct metric metrics[] = {{"peak_allocated_bytes", (double)NAN},
                                     {"peak_reserved_bytes", (double)NAN}};
    struct section section = {.title = "Step Memory",
                              .index_by = "global_rank",
                              .window = "step_window",
                              .metrics = metrics,
                              .n_metrics = sizeof(metrics) / sizeof(*metrics),
                              .unit_key = "memory",
                              .unit = "bytes",
                              .diagnosis = diagnosis_json("NO_GPU", "NO GPU", "info",
                                                          "There is no model in GPU memory.", "",
                                                          (double)NAN)};
    return section_json(&section);
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

/* Of the whole run: TraceML's names for what its step time cannot decide. */
static json_t *primary_json(const struct dlb_traceml_class *class,
                            const struct dlb_traceml_step *step)
{
    const char *kind = dlb_traceml_kind_name(class->kind);
    const char *status = dlb_traceml_status_name(class->kind);
    if (class->kind == DLB_TRACEML_NO_DATA || class->kind == DLB_TRACEML_IS_WARMUP) {
        kind = "INSUFFICIENT_STEP_TIME_DATA";
        status = "INSUFFICIENT STEP-TIME DATA";
    } else if (class->kind == DLB_TRACEML_BALANCED) {
        kind = "NO_CLEAR_PERFORMANCE_BOTTLENECK";
        status = "NO CLEAR PERFORMANCE BOTTLENECK";
    }
    json_t *evidence = dlb_json_made(json_pack(
        "{ss, ss, sI, so, so, so, so, so}", "type", "phase_share", "basis", "average",
        "steps_analyzed", (json_int_t)step->n_steps, "step_time_ms",
        dlb_json_real_or_null(step->step_ms), "input_wait_ms",
        dlb_json_real_or_null(step->input_ms), "h2d_ms", dlb_json_real_or_null(step->h2d_ms),
        "compute_ms", dlb_json_real_or_null(step->compute_ms), "residual_ms",
        dlb_json_real_or_null(step->residual_ms)));
    return dlb_json_made(json_pack("{ss, ss, ss, ss, ss, ss, ss, so}", "kind", kind, "status",
                                   status, "severity", class->severity, "section", "step_time",
                                   "scope", "performance", "summary", DLB_TRACEML_SUMMARY, "action",
                                   action_of(class->kind), "evidence", evidence));
}

static json_t *text_json(const json_t *doc, const struct dlb_traceml_step *step,
                         const struct dlb_traceml_class *class)
{
    struct dlb_text text = {0};
    dlb_text_printf(&text, "dlbench run: %s\n", dlb_traceml_status_name(class->kind));
    if (isfinite(step->step_ms))
        dlb_text_printf(
            &text, "- Step %.3f ms: input %.3f, copies %.3f, compute %.3f, other %.3f\n",
            step->step_ms, step->input_ms, step->h2d_ms, step->compute_ms, step->residual_ms);
    dlb_text_printf(&text, "- ");
    dlb_text_plain(&text, dlb_text_shown(json_object_get(doc, "verdict"), "text"), 400);
    json_t *out = dlb_json_safe_text(text.data);
    dlb_text_free(&text);
    return out;
}

void dlb_traceml_render(const json_t *doc, struct dlb_text *out)
{
    uint64_t best = dlb_json_u64(doc, "best_cell", 0);
    const json_t *cell = json_array_get(json_object_get(doc, "cells"), (size_t)best);
    const json_t *device = json_object_get(doc, "device");
    const char *when = dlb_json_text(json_object_get(doc, "environment"), "timestamp");
    bool gpu = json_is_object(json_object_get(device, "gpu"));
    struct dlb_traceml_step step;
    struct dlb_traceml_class class;
    take_step(cell, &step);
    dlb_traceml_classify(&step, &class);
    json_t *made = dlb_json_made(json_pack(
        "{sf, ss?, sn, sn, s{ss, ss, si, si, si}, sn, so, so, so, so, so, so}", "schema_version",
        DLB_TRACEML_SCHEMA, "generated_at", or_null(when), "duration_s", "analysis_window", "meta",
        "run_name", dlb_json_text(doc, "run_name"), "mode", "single_node", "world_size", 1,
        "nodes_observed", 1, "gpus_observed", gpu ? 1 : 0, "run_context", "primary_diagnosis",
        primary_json(&class, &step), "system", system_json(doc, cell), "process", process_json(),
        "step_time", step_time_json(cell, &step, gpu, &class), "step_memory", step_memory_json(),
        "text", text_json(doc, &step, &class)));
    char *text = dlb_json_dumped(made, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    dlb_text_append(out, text, strlen(text));
    dlb_text_append(out, "\n", 1);
    free(text);
    json_decref(made);
}
