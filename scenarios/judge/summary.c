#include "scenarios/judge/summary.h"

#include "scenarios/cell/cell.h"
#include "scenarios/judge/au_summary.h"
#include "scenarios/judge/cache_summary.h"
#include "scenarios/judge/judge.h"
#include "scenarios/spec/flat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *reals(const double *values, uint32_t n)
{
    json_t *out = json_array();
    for (uint32_t i = 0; out && i < n; i++)
        if (json_array_append_new(out, dlb_json_real_or_null(values[i]))) {
            json_decref(out);
            return NULL;
        }
    return out;
}

static json_t *estimate(const struct dlb_estimate *e, const double *values, uint32_t n)
{
    return json_pack("{so, so, so, ss, so}", "median", dlb_json_real_or_null(n ? e->median : NAN),
                     "low", dlb_json_real_or_null(n ? e->low : NAN), "high",
                     dlb_json_real_or_null(n ? e->high : NAN), "interval",
                     dlb_interval_name(n ? e->interval : DLB_INTERVAL_NONE), "values",
                     reals(values, n));
}

/* Median and maximum over repetitions of a share of the window (or of the wall clock). */
static json_t *fraction(const json_t *reps, const char *part, const char *whole, bool complement)
{
    double *values = calloc(json_array_size(reps) + 1, sizeof(double));
    double max = -INFINITY;
    uint32_t n = 0;
    const json_t *doc;
    size_t i;
    if (!values)
        return NULL;
    json_array_foreach(reps, i, doc) {
        double value = dlb_json_number(doc, part) / dlb_json_number(doc, whole);
        if (!isfinite(value))
            continue;
        values[n] = fmin(fmax(complement ? 1 - value : value, 0), 1);
        max = fmax(max, values[n++]);
    }
    json_t *out = json_pack("{so, so}", "median", dlb_json_real_or_null(dlb_median(values, n)),
                            "max", dlb_json_real_or_null(max));
    free(values);
    return out;
}

static json_t *verdict(const struct dlb_judged_cell *cell)
{
    const struct dlb_verdict *v = &cell->verdict;
    return json_pack(
        "{ss, ss, ss, ss, so, so, so}", "code", dlb_verdict_code(v->klass, v->cause), "class",
        dlb_verdict_class_name(v->klass), "cause", dlb_cause_name(v->cause), "severity",
        dlb_severity_name(v->severity), "text", dlb_json_safe_text(v->text), "input_wait_frac",
        dlb_json_real_or_null(cell->evidence.complete ? cell->evidence.input_frac : (double)NAN),
        "ceiling_ratio", dlb_json_real_or_null(cell->ceiling_ratio));
}

static json_t *get_or(const json_t *doc, const char *key, json_t *otherwise)
{
    json_t *value = json_object_get(doc, key);
    if (!value)
        return otherwise;
    json_decref(otherwise);
    return json_incref(value);
}

static double stage_sum(const json_t *doc, const char *table, const char *stage)
{
    return dlb_json_number(json_object_get(json_object_get(doc, table), stage), "sum_ns");
}

/* The reads of a run, with how many a second those of the window's samples are. */
static json_t *reads(const json_t *doc, double samples_per_s)
{
    const json_t *shown = json_object_get(doc, "reads");
    json_t *out = shown ? json_copy((json_t *)shown) : json_null();
    bool requests = strcmp(dlb_json_text(shown, "of"), "requests") == 0;
    double per_sample =
        requests ? dlb_json_number(shown, "count") / dlb_json_number(doc, "worker_samples") : 1;
    if (!shown || !out ||
        dlb_json_put(out, "per_s", dlb_json_real_or_null(per_sample * samples_per_s)))
        return out;
    json_decref(out);
    return NULL;
}

static bool put_rates(json_t *out, const struct dlb_judged_cell *cell)
{
    const json_t *shown = cell->shown;
    double window_ns = dlb_json_number(shown, "window_ns");
    double n_bytes = dlb_json_number(shown, "n_bytes");
    return dlb_json_put(out, "samples_per_s",
                        estimate(&cell->rate, cell->samples_per_s, cell->n_values)) &&
           dlb_json_put(out, "read_bytes_per_s",
                        dlb_json_real_or_null(dlb_judged_read_bytes_per_s(cell))) &&
           dlb_json_put(out, "reads", reads(shown, cell->rate.median)) &&
           dlb_json_put(out, "delivered_bytes_per_s",
                        dlb_json_real_or_null(n_bytes * 1e9 / window_ns)) &&
           dlb_json_put(
               out, "h2d_bytes_per_s",
               dlb_json_real_or_null(n_bytes * 1e9 / stage_sum(shown, "device_stages", "copy")));
}

static bool put_measured(json_t *out, const struct dlb_judged_cell *cell, const json_t *reps,
                         uint32_t n_blocks)
{
    const json_t *shown = cell->shown;
    json_t *memory = json_pack("{sn, sn, sn, sn}", "peak_pss_bytes", "slots_bytes", "pinned_bytes",
                               "huge_pages");
    return put_rates(out, cell) &&
           dlb_json_put(out, "accelerators", get_or(shown, "accelerators", json_null())) &&
           dlb_json_put(out, "au", dlb_au_summary(reps, shown, n_blocks)) &&
           dlb_json_put(out, "consumer_cpu_ns", get_or(shown, "consumer_cpu_ns", json_null())) &&
           dlb_json_put(out, "gpu_idle_frac", fraction(reps, "busy_ns", "window_ns", true)) &&
           dlb_json_put(out, "input_wait_frac",
                        fraction(reps, "idle_input_ns", "window_ns", false)) &&
           dlb_json_put(out, "unaccounted_frac",
                        fraction(reps, "unaccounted_ns", "wall_ns", false)) &&
           dlb_json_put(out, "epochs", get_or(shown, "epochs", json_array())) &&
           dlb_json_put(out, "worker_stages", get_or(shown, "worker_stages", json_object())) &&
           dlb_json_put(out, "io", get_or(shown, "io", json_null())) &&
           dlb_json_put(out, "consumer_stages", get_or(shown, "consumer_stages", json_object())) &&
           dlb_json_put(out, "device_stages", get_or(shown, "device_stages", json_object())) &&
           dlb_json_put(out, "memory", get_or(shown, "memory", memory)) &&
           dlb_json_put(out, "os", get_or(shown, "os", json_null())) &&
           dlb_json_put(out, "machine_busy_frac",
                        get_or(shown, "machine_busy_frac", json_null())) &&
           dlb_json_put(out, "machine_stolen_frac",
                        get_or(shown, "machine_stolen_frac", json_null())) &&
           dlb_json_put(out, "io_bytes", get_or(shown, "io_bytes", json_null())) &&
           dlb_json_put(out, "worker_samples", get_or(shown, "worker_samples", json_null())) &&
           dlb_json_put(out, "resident_frac", get_or(shown, "resident_frac", json_null())) &&
           dlb_json_put(out, "residency_by", get_or(shown, "residency_by", json_null())) &&
           dlb_json_put(out, "cache", dlb_cache_summary(reps, shown)) &&
           dlb_json_put(out, "skipped_samples", get_or(shown, "n_skipped", json_null())) &&
           dlb_json_put(out, "cut_shards", get_or(shown, "n_cut_shards", json_null())) &&
           dlb_json_put(out, "skipped", get_or(shown, "skipped", json_array()));
}

static json_t *cell_json(const struct dlb_summary *in, uint32_t i)
{
    static const char *const status[] = {"ok", "skipped", "failed"};
    const struct dlb_judged_cell *cell = &in->judgement->cells[i];
    json_t *out = json_object();
    bool ok = out && dlb_json_put(out, "index", json_integer(i)) &&
              dlb_json_put(out, "config", json_incref(in->plan->cells[i].config)) &&
              dlb_json_put(out, "status", json_string(status[cell->status])) &&
              dlb_json_put(out, "reason",
                           cell->reason[0] ? dlb_json_safe_text(cell->reason) : json_null()) &&
              dlb_json_put(out, "repeats", json_integer(cell->n_values)) &&
              put_measured(out, cell, in->results->cells[i], in->plan->n_blocks) &&
              dlb_json_put(out, "verdict", verdict(cell));
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *cells_json(const struct dlb_summary *in)
{
    json_t *out = json_array();
    for (uint32_t i = 0; out && i < in->plan->n_cells; i++)
        if (json_array_append_new(out, cell_json(in, i))) {
            json_decref(out);
            return NULL;
        }
    return out;
}

static json_t *ceilings_json(const struct dlb_summary *in)
{
    json_t *out = json_array();
    for (uint32_t i = 0; out && i < in->plan->n_ceilings; i++) {
        const json_t *doc, *reps = in->results->ceilings[i];
        double *values = calloc(json_array_size(reps) + 1, sizeof(double));
        uint32_t n = 0;
        size_t k;
        if (values)
            json_array_foreach(reps, k, doc) {
                double rate =
                    dlb_json_number(doc, "n_steps") * 1e9 / dlb_json_number(doc, "window_ns");
                if (isfinite(rate))
                    values[n++] = rate;
            }
        struct dlb_estimate e = dlb_estimate_median(values, n, in->plan->seed);
        json_t *one = values ? json_pack("{sO, so}", "config", in->plan->ceilings[i], "steps_per_s",
                                         estimate(&e, values, n))
                             : NULL;
        free(values);
        if (json_array_append_new(out, one)) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* The best cell's device as it was opened; before any ran, what the configuration means here. */
static json_t *device_json(const struct dlb_summary *in)
{
    const struct dlb_judgement *j = in->judgement;
    for (uint32_t i = 0; i < in->plan->n_cells; i++) {
        uint32_t at = j->best >= 0 ? (uint32_t)j->best : i;
        json_t *device = json_object_get(j->cells[at].shown, "device");
        if (device)
            return json_incref(device);
    }
    struct dlb_err ignored;
    char why[160] = "", name[96];
    const struct dlb_device *device = dlb_device_choose(&in->spec->device, NULL, why, &ignored);
    if (!device)
        return json_pack("{sn, sn, ss, sn}", "kind", "name", "why", ignored.what, "gpu");
    dlb_cell_device_name(device, &in->spec->device, name, sizeof(name));
    return json_pack("{ss, ss, ss, sn}", "kind", device->name, "name", name, "why", why, "gpu");
}

static json_t *verdict_json(const struct dlb_summary *in)
{
    if (in->judgement->best >= 0)
        return verdict(&in->judgement->cells[in->judgement->best]);
    struct dlb_judged_cell none = {.ceiling_ratio = (double)NAN};
    dlb_judge(&none.evidence, &none.verdict);
    const struct dlb_judged_cell *cells = in->judgement->cells;
    if (in->results->interrupted)
        (void)snprintf(none.verdict.text, sizeof(none.verdict.text),
                       "it was interrupted before anything was measured.");
    for (uint32_t i = 0; i < in->plan->n_cells; i++)
        if (cells[i].status != DLB_CELL_SKIPPED) {
            none.verdict = cells[i].verdict;
            break;
        }
    return verdict(&none);
}

static json_t *index_or_null(int64_t index)
{
    return index < 0 ? json_null() : json_integer(index);
}

static bool put_head(json_t *doc, const struct dlb_summary *in)
{
    char hash[17], id[17];
    dlb_config_hash(in->cfg, hash);
    (void)snprintf(id, sizeof(id), "%016" PRIx64, in->shape->id);
    return dlb_json_put(doc, "schema_version", json_integer(DLB_SCHEMA_VERSION)) &&
           dlb_json_put(doc, "command", json_string(in->command)) &&
           dlb_json_put(doc, "run_name", dlb_json_safe_text(in->run_name)) &&
           dlb_json_put(doc, "partial", json_boolean(in->partial)) &&
           dlb_json_put(doc, "interrupted", json_boolean(in->results->interrupted)) &&
           dlb_json_put(doc, "dlbench",
                        json_pack("{ss, ss}", "version", in->version, "commit", in->commit)) &&
           dlb_json_put(doc, "environment", json_incref((json_t *)in->environment)) &&
           dlb_json_put(doc, "dataset",
                        json_pack("{ss, ss, sI, sI}", "id", id, "format",
                                  dlb_formats[in->spec->dataset.format]->name, "samples",
                                  (json_int_t)in->shape->n_samples, "bytes",
                                  (json_int_t)in->shape->total_bytes)) &&
           dlb_json_put(doc, "config", dlb_config_resolved(in->cfg)) &&
           dlb_json_put(doc, "config_hash", json_string(hash)) &&
           dlb_json_put(doc, "rank", json_integer(in->spec->run.rank)) &&
           dlb_json_put(doc, "world", json_integer(in->spec->run.world)) &&
           dlb_json_put(doc, "device", device_json(in));
}

/* What the judge noted, and what opening the data brought to light: which way the bytes took, what
 * was left out. */
static json_t *notes_json(const struct dlb_summary *in)
{
    const struct dlb_shape *shape = in->shape;
    uint32_t n = sizeof(shape->odd) / sizeof(*shape->odd);
    json_t *notes = json_copy(in->judgement->notes);

    for (uint32_t i = 0; notes && i < n && i < shape->n_odd; i++) {
        char text[sizeof(*shape->odd) + 16];
        (void)snprintf(text, sizeof(text), "the data: %s", shape->odd[i]);
        if (json_array_append_new(notes, dlb_json_safe_text(text))) {
            json_decref(notes);
            notes = NULL;
        }
    }
    return notes;
}

static bool put_findings(json_t *doc, const struct dlb_summary *in)
{
    const struct dlb_judgement *j = in->judgement;
    return dlb_json_put(doc, "verdict", verdict_json(in)) &&
           dlb_json_put(doc, "best_cell", index_or_null(j->best)) &&
           dlb_json_put(doc, "recommended_cell", index_or_null(j->recommended)) &&
           dlb_json_put(doc, "separable", json_boolean(j->separable)) &&
           dlb_json_put(doc, "not_separable", json_incref(j->set)) &&
           dlb_json_put(doc, "recommendation", json_string(j->text)) &&
           dlb_json_put(doc, "pytorch", json_string(j->pytorch)) &&
           dlb_json_put(doc, "not_modelled", json_incref(j->not_modelled)) &&
           dlb_json_put(doc, "notes", notes_json(in)) &&
           dlb_json_put(doc, "axes", json_incref(in->plan->axes)) &&
           dlb_json_put(doc, "reference",
                        json_pack("{so, so}", "cell", index_or_null(in->plan->reference),
                                  "drift_frac", dlb_json_real_or_null(j->drift_frac))) &&
           dlb_json_put(doc, "ceilings", ceilings_json(in)) &&
           dlb_json_put(doc, "cells", cells_json(in)) &&
           (!j->storage || dlb_json_put(doc, "storage", json_incref(j->storage)));
}

json_t *dlb_summary_build(const struct dlb_summary *in, struct dlb_err *err)
{
    json_t *doc = json_object();
    if (doc && put_head(doc, in) && put_findings(doc, in))
        return doc;
    json_decref(doc);
    (void)dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the summary");
    return NULL;
}
