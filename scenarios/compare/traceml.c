#include "scenarios/compare/traceml.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/compare.h"
#include "scenarios/compare/changes.h"
#include "scenarios/compare/differences.h"
#include "scenarios/compare/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_VERSION 1.7
#define MOST_VERSION 1.9

static const json_t *section_of(const json_t *doc)
{
    return json_object_get(json_object_get(doc, "step_time"), "global");
}

/* A mean of the analysed window, in ms; NaN: not measured. */
static double average(const json_t *doc, const char *metric)
{
    return dlb_json_number(json_object_get(section_of(doc), "average"), metric);
}

bool dlb_traceml_is(const json_t *doc)
{
    return json_is_number(json_object_get(doc, "schema_version")) &&
           json_is_object(json_object_get(doc, "step_time")) &&
           json_is_object(json_object_get(doc, "step_memory"));
}

int dlb_traceml_check(const json_t *doc, const char *path, struct dlb_err *err)
{
    double version = dlb_json_number(doc, "schema_version");
    if (!(version > LEAST_VERSION - 0.01 && version < MOST_VERSION + 0.01))
        return dlb_fail(err, DLB_ERR_TRACEML_VERSION, path, DLB_NO_OFFSET,
                        "has TraceML's schema_version %.4g; dlbench reads %.1f to %.1f", version,
                        LEAST_VERSION, MOST_VERSION);
    if (average(doc, "step_time_cpu_ms") > 0 || average(doc, "step_time_gpu_ms") > 0)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_TRACEML_FIELD, path, DLB_NO_OFFSET,
                    "has neither step_time.global.average.step_time_cpu_ms nor step_time_gpu_ms: "
                    "the run measured no steps");
}

static bool all_have(const struct dlb_compared_side *side, const char *metric)
{
    for (uint32_t i = 0; i < side->n_docs; i++)
        if (!(average(side->docs[i], metric) > 0))
            return false;
    return true;
}

/* The clock that every document has; the GPU's rather than the CPU's. NULL: none. */
static const char *common_clock(const struct dlb_compare_request *request)
{
    static const char *const metrics[] = {"step_time_gpu_ms", "step_time_cpu_ms"};
    for (size_t i = 0; i < 2; i++)
        if (all_have(&request->a, metrics[i]) && all_have(&request->b, metrics[i]))
            return metrics[i];
    return NULL;
}

/* Steps a second: one value for each document. */
static struct dlb_compare_reps *speeds(const struct dlb_compared_side *side, const char *metric)
{
    struct dlb_compare_reps *reps = dlb_mem_array(side->n_docs, sizeof(*reps));
    double *values = dlb_mem_array(side->n_docs, sizeof(*values));
    for (uint32_t i = 0; i < side->n_docs; i++) {
        values[i] = 1000 / average(side->docs[i], metric);
        reps[i] = (struct dlb_compare_reps){&values[i], 1};
    }
    return reps;
}

static void free_speeds(struct dlb_compare_reps *reps)
{
    free((void *)reps[0].rate);
    free(reps);
}

/* Phases are of the clock that TraceML selected: they compare if both selected the same. */
static void put_phases(const json_t *a, const json_t *b, double whole,
                       const struct dlb_compare *how, json_t *cells)
{
    static const char *const phases[] = {"input_wait_ms", "h2d_ms",     "compute_ms",
                                         "residual_ms",   "forward_ms", "backward_ms",
                                         "optimizer_ms"};
    const json_t *of_a = json_object_get(section_of(a), "window");
    const json_t *of_b = json_object_get(section_of(b), "window");
    if (strcmp(dlb_json_text(of_a, "diagnosis_clock"), dlb_json_text(of_b, "diagnosis_clock")) != 0)
        return;
    for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
        struct dlb_compare_figure fa = {average(a, phases[i]), (double)NAN, (double)NAN};
        struct dlb_compare_figure fb = {average(b, phases[i]), (double)NAN, (double)NAN};
        struct dlb_change change;
        if (!isfinite(fa.value) || !isfinite(fb.value))
            continue;
        dlb_compare_parts(&fa, &fb, whole, how, 1, &change);
        dlb_json_append(cells, dlb_figure_json(phases[i], fa.value, fb.value, &change));
    }
}

static json_t *differences(const json_t *a, const json_t *b)
{
    static const struct {
        const char *kind, *in, *key;
        bool explains;
    } rows[] = {{"configuration", "meta", "world_size", true},
                {"machine", "meta", "nodes_observed", true},
                {"machine", "meta", "gpus_observed", true},
                {"conditions", "primary_diagnosis", "status", true},
                {"program", NULL, "schema_version", true}};
    json_t *out = dlb_json_made(json_array());
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const json_t *of_a = rows[i].in ? json_object_get(a, rows[i].in) : a;
        const json_t *of_b = rows[i].in ? json_object_get(b, rows[i].in) : b;
        dlb_difference_add(out, rows[i].kind, rows[i].key, json_object_get(of_a, rows[i].key),
                           json_object_get(of_b, rows[i].key), rows[i].explains);
    }
    return out;
}

int dlb_compare_traceml(const struct dlb_compare_request *request, json_t *compare,
                        struct dlb_err *err)
{
    const json_t *a = request->a.docs[0], *b = request->b.docs[0];
    const char *metric = common_clock(request);
    if (!metric)
        return dlb_fail(err, DLB_ERR_COMPARE_NOTHING, request->b.name, DLB_NO_OFFSET,
                        "its steps and those of %s were measured on different clocks",
                        request->a.name);
    struct dlb_compare_reps *of_a = speeds(&request->a, metric),
                            *of_b = speeds(&request->b, metric);
    struct dlb_compare_cell cell = {of_a, of_b};
    struct dlb_compare how = {.cells = &cell,
                              .n_cells = 1,
                              .n_a = request->a.n_docs,
                              .n_b = request->b.n_docs,
                              .smallest_frac = request->smallest_frac,
                              .between_frac = request->between_frac};
    struct dlb_change change;
    struct dlb_comparison over;
    dlb_compare(&how, &change, &over);
    json_t *cells = dlb_json_made(json_array());
    dlb_json_append(cells,
                    dlb_figure_json("step time", average(a, metric), average(b, metric), &change));
    put_phases(a, b, average(a, metric), &how, cells);
    dlb_json_put(compare, "figure", json_string("step_time_ms"));
    dlb_json_put(compare, "cells", cells);
    dlb_json_put(compare, "unmatched", dlb_json_made(json_pack("{si, si}", "a", 0, "b", 0)));
    dlb_changes_put(compare, &how, &over);
    dlb_json_put(compare, "differences", differences(a, b));
    free_speeds(of_a);
    free_speeds(of_b);
    return DLB_OK;
}
