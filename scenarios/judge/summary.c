#include "scenarios/judge/summary.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/cell/cell.h"
#include "scenarios/judge/au_summary.h"
#include "scenarios/judge/cache_summary.h"
#include "scenarios/judge/classes.h"
#include "scenarios/judge/in_c.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/lost.h"
#include "scenarios/judge/noise.h"
#include "scenarios/judge/note.h"
#include "scenarios/judge/raced.h"
#include "scenarios/judge/ranks_summary.h"
#include "scenarios/judge/step_source.h"
#include "scenarios/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const rate_keys[] = {[DLB_RATE_WINDOW] = "samples_per_s",
                                        [DLB_RATE_WITHIN] = "within_epoch_samples_per_s",
                                        [DLB_RATE_EPOCH] = "epoch_samples_per_s"};

static json_t *reals(const double *values, uint32_t n)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < n; i++)
        dlb_json_append(out, dlb_json_real_or_null(values[i]));
    return out;
}

static json_t *estimate(const struct dlb_estimate *e, const double *values, uint32_t n)
{
    static const struct dlb_estimate none = {.n = 0};
    json_t *out = dlb_estimate_to_json(n ? e : &none);
    dlb_json_put(out, "values", reals(values, n));
    return out;
}

/* Over repetitions, a share of the window (or of the wall clock). */
static json_t *fraction(const struct dlb_reps *reps, double (*share)(const struct dlb_share *total))
{
    double *values = dlb_mem_array(reps->n, sizeof(*values)), max = -INFINITY;
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++) {
        double value = share(&reps->rep[i].loop.total);
        if (!isfinite(value))
            continue;
        values[n] = fmin(fmax(value, 0), 1);
        max = fmax(max, values[n++]);
    }
    json_t *out = dlb_json_made(json_pack("{so, so, so}", "median",
                                          dlb_json_real_or_null(dlb_median(values, n)), "max",
                                          dlb_json_real_or_null(max), "values", reals(values, n)));
    free(values);
    return out;
}

static double idle(const struct dlb_share *total)
{
    return 1 - dlb_measured(total->busy_ns) / dlb_measured(total->window_ns);
}

static double input_wait(const struct dlb_share *total)
{
    return dlb_measured(total->idle_input_ns) / dlb_measured(total->window_ns);
}

static double unaccounted(const struct dlb_share *total)
{
    return dlb_measured(total->unaccounted_ns) / dlb_measured(total->wall_ns);
}

static json_t *gain_json(const struct dlb_gain *gain)
{
    return dlb_json_made(json_pack("{so, so, so}", "median", dlb_json_real_or_null(gain->median),
                                   "low", dlb_json_real_or_null(gain->low), "high",
                                   dlb_json_real_or_null(gain->high)));
}

static json_t *verdict(const struct dlb_judged_cell *cell)
{
    const struct dlb_verdict *v = &cell->verdict;
    const struct dlb_gain *gain = &cell->evidence.gain;
    return dlb_json_made(json_pack(
        "{ss, ss, ss, ss, so, so, so, so}", "code", dlb_verdict_code(v->klass, v->cause), "class",
        dlb_verdict_class_name(v->klass), "cause", dlb_cause_name(v->cause), "severity",
        dlb_severity_name(v->severity), "text", dlb_json_safe_text(v->text), "input_wait_frac",
        dlb_json_real_or_null(cell->evidence.complete ? cell->evidence.input_frac : (double)NAN),
        "ceiling_ratio", dlb_json_real_or_null(gain->median), "gain", gain_json(gain)));
}

/* The reads of a run, with how many a second those of the window's samples are. */
static json_t *reads(const struct dlb_cell_result *shown, json_t *of_rep, double samples_per_s)
{
    const struct dlb_workers_result *workers = &shown->workers;
    double per_sample = workers->reads_are_requests
                            ? dlb_per_sample_read(workers, dlb_measured(workers->reads.count))
                            : 1;
    if (!of_rep)
        return json_null();
    json_t *out = dlb_json_made(json_copy(of_rep));
    dlb_json_put(out, "per_s", dlb_json_real_or_null(per_sample * samples_per_s));
    return out;
}

static void put_rates(json_t *out, const struct dlb_judged_cell *cell,
                      const struct dlb_cell_result *shown, json_t *rep)
{
    const struct dlb_share *total = &shown->loop.total;
    double bytes = dlb_measured(total->n_bytes) * 1e9;
    double copy_ns = dlb_measured(shown->loop.device[DLB_DS_COPY].sum_ns);
    for (int kind = 0; kind < DLB_N_RATES; kind++)
        dlb_json_put(out, rate_keys[kind],
                     estimate(&cell->rates[kind].over, cell->rates[kind].values, cell->n_values));
    dlb_json_put(out, "read_bytes_per_s", dlb_json_real_or_null(dlb_judged_read_bytes_per_s(cell)));
    dlb_json_put(
        out, "reads",
        reads(shown, json_object_get(rep, "reads"), cell->rates[DLB_RATE_WINDOW].over.median));
    dlb_json_put(out, "delivered_bytes_per_s",
                 dlb_json_real_or_null(bytes / dlb_measured(total->window_ns)));
    dlb_json_put(out, "h2d_bytes_per_s", dlb_json_real_or_null(bytes / copy_ns));
}

/* What the window's mean does not say; medians over the repetitions. */
static void put_pace(json_t *out, const struct dlb_judged_cell *cell)
{
    const struct dlb_epoch_time *within = &cell->times[DLB_RATE_WITHIN],
                                *epoch = &cell->times[DLB_RATE_EPOCH];
    const struct {
        const char *key;
        double value;
    } rows[] = {{"epoch_border_ms", epoch->border_ns / 1e6},
                {"within_epoch_gpu_idle_frac", 1 - within->busy_frac},
                {"within_epoch_input_wait_frac", within->input_frac},
                {"epoch_gpu_idle_frac", 1 - epoch->busy_frac},
                {"epoch_input_wait_frac", epoch->input_frac},
                {"drained_frac", cell->drained_frac},
                {"window_bias_frac", cell->window_bias_frac}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        dlb_json_put(out, rows[i].key, dlb_json_real_or_null(rows[i].value));
    dlb_json_put(out, "stationary",
                 cell->tells_trend ? json_boolean(cell->stationary) : json_null());
}

/* The parts of the repetition that is shown, as they are; where it has none, an empty one. */
static void put_shown(json_t *out, const json_t *rep)
{
    static const char *const nullable[] = {"accelerators",
                                           "consumer_cpu_ns",
                                           "io",
                                           "os",
                                           "strain",
                                           "machine_busy_frac",
                                           "machine_stolen_frac",
                                           "io_bytes",
                                           "worker_samples",
                                           "resident_frac",
                                           "residency_by",
                                           "python"};
    static const char *const objects[] = {"worker_stages", "consumer_stages", "device_stages"};
    static const char *const arrays[] = {"epochs", "skipped"};
    json_t *memory = json_object_get(rep, "memory"), *value;
    for (size_t i = 0; i < sizeof(nullable) / sizeof(nullable[0]); i++) {
        value = json_object_get(rep, nullable[i]);
        dlb_json_put(out, nullable[i], value ? json_incref(value) : json_null());
    }
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        value = json_object_get(rep, objects[i]);
        dlb_json_put(out, objects[i], value ? json_incref(value) : json_object());
    }
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        value = json_object_get(rep, arrays[i]);
        dlb_json_put(out, arrays[i], value ? json_incref(value) : json_array());
    }
    dlb_json_put(out, "memory",
                 memory ? json_incref(memory)
                        : dlb_json_made(json_pack("{sn, sn, sn, sn, sn, sn, sn}", "peak_pss_bytes",
                                                  "slots_bytes", "pinned_bytes", "huge_pages",
                                                  "early_bytes", "recent_bytes", "growth")));
}

/* Of all repetitions; the names are of one. */
static void put_skipped(json_t *out, const struct dlb_reps *reps,
                        const struct dlb_cell_result *shown)
{
    struct dlb_skipped skipped = dlb_reps_skipped(reps, shown);
    dlb_json_put(out, "skipped_samples", dlb_json_u64_or_null(skipped.n_samples));
    dlb_json_put(out, "skipped_frac", dlb_json_real_or_null(dlb_lost_frac(&skipped.lost)));
    dlb_json_put(out, "cut_shards", dlb_json_u64_or_null(skipped.n_cut_shards));
    if (skipped.named == shown)
        return;
    json_t *rep = dlb_cell_result_to_json(skipped.named), *names = json_object_get(rep, "skipped");
    if (names)
        dlb_json_put(out, "skipped", json_incref(names));
    json_decref(rep);
}

static void put_measured(json_t *out, const struct dlb_judged_cell *cell,
                         const struct dlb_reps *reps, uint32_t n_blocks)
{
    struct dlb_cell_result none;
    dlb_cell_result_init(&none);
    const struct dlb_cell_result *shown = cell->shown ? cell->shown : &none;
    json_t *rep = cell->shown ? dlb_cell_result_to_json(shown) : NULL;
    put_rates(out, cell, shown, rep);
    put_pace(out, cell);
    put_shown(out, rep);
    json_decref(rep);
    dlb_json_put(out, "au", dlb_au_summary(reps, cell->shown, n_blocks));
    dlb_json_put(out, "gpu_idle_frac", fraction(reps, idle));
    dlb_json_put(out, "input_wait_frac", fraction(reps, input_wait));
    dlb_json_put(out, "unaccounted_frac", fraction(reps, unaccounted));
    dlb_json_put(out, "cache", dlb_cache_summary(reps, cell->shown));
    put_skipped(out, reps, shown);
}

static json_t *code_or_null(enum dlb_code code)
{
    return code < DLB_N_CODES ? dlb_json_made(json_string(dlb_code_name(code))) : json_null();
}

/* A skipped cell is identified by its swept values, although they have no meaning in it. The
 * last axis is the fastest, as in dlb_plan_cells. */
static void put_swept(json_t *config, const struct dlb_axes *axes, uint32_t number)
{
    for (uint32_t i = axes->n; i-- > 0;) {
        const struct dlb_axis *axis = &axes->axis[i];
        uint32_t n = (uint32_t)json_array_size(axis->values);
        dlb_json_put(config, axis->key, json_incref(json_array_get(axis->values, number % n)));
        number /= n;
    }
}

static json_t *cell_config(const struct dlb_plan *plan, uint32_t i)
{
    const struct dlb_plan_cell *planned = &plan->cells[i];
    json_t *config = dlb_spec_to_json(planned->spec, planned->iterable);
    if (planned->skipped && i < plan->n_grid)
        put_swept(config, &plan->axes, i);
    return config;
}

/* Cells are paired by them, where two of a result are compared. */
static json_t *blocks(const struct dlb_judged_cell *cell)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < cell->n_values; i++)
        dlb_json_append(out, json_integer(cell->block[i]));
    return out;
}

static json_t *cell_json(const struct dlb_summary *in, uint32_t i)
{
    static const char *const status[] = {"ok", "skipped", "failed"};
    const struct dlb_judged_cell *cell = &in->judgement->cells[i];
    json_t *out = dlb_json_made(json_object());
    dlb_json_put(out, "index", json_integer(i));
    dlb_json_put(out, "config", cell_config(in->plan, i));
    dlb_json_put(out, "pipeline",
                 json_string(dlb_plan_is_torch(in->plan, i) ? "pytorch" : "hardware"));
    dlb_json_put(out, "status", json_string(status[cell->status]));
    dlb_json_put(out, "code", code_or_null(cell->code));
    dlb_json_put(out, "reason", cell->reason[0] ? dlb_json_safe_text(cell->reason) : json_null());
    dlb_json_put(out, "repeats", json_integer(cell->n_values));
    dlb_json_put(out, "blocks", blocks(cell));
    put_measured(out, cell, &in->results->cells[i], in->plan->n_blocks);
    if (cell->shown && cell->shown->ranks)
        dlb_json_put(out, "ranks", json_incref(cell->shown->ranks));
    dlb_json_put(out, "in_c", dlb_in_c_summary(in->plan, in->results, i, cell->shown));
    dlb_json_put(out, "noise", dlb_noise_cell_json(&in->results->cells[i]));
    dlb_json_put(out, "race", dlb_raced_cell_json(in->plan, i));
    dlb_json_put(out, "classes", dlb_classes_json(cell));
    dlb_json_put(out, "verdict", verdict(cell));
    return out;
}

static json_t *cells_json(const struct dlb_summary *in)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < in->plan->n_cells; i++)
        if (in->plan->cells[i].spec) /* another program's results are the scenario's own part */
            dlb_json_append(out, cell_json(in, i));
    return out;
}

static json_t *ceiling_json(const struct dlb_summary *in, uint32_t i)
{
    const struct dlb_reps *reps = &in->results->ceilings[i];
    double *values = dlb_mem_array(reps->n, sizeof(*values));
    uint32_t n = 0;
    for (uint32_t k = 0; k < reps->n; k++) {
        const struct dlb_share *total = &reps->rep[k].loop.total;
        double rate = dlb_measured(total->n_steps) * 1e9 / dlb_measured(total->window_ns);
        if (isfinite(rate))
            values[n++] = rate;
    }
    struct dlb_estimate e = dlb_estimate_median(values, n);
    json_t *out = dlb_json_made(json_pack("{so, so}", "config",
                                          dlb_spec_to_json(&in->plan->ceilings[i], false),
                                          "steps_per_s", estimate(&e, values, n)));
    free(values);
    return out;
}

static json_t *ceilings_json(const struct dlb_summary *in)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < in->plan->n_ceilings; i++)
        dlb_json_append(out, ceiling_json(in, i));
    return out;
}

/* The best cell's device as it was opened; before any ran, what the configuration means here. */
static json_t *device_json(const struct dlb_summary *in)
{
    const struct dlb_judgement *j = in->judgement;
    for (uint32_t i = 0; i < in->plan->n_cells; i++) {
        const struct dlb_cell_result *shown = j->cells[j->best >= 0 ? j->best : i].shown;
        if (shown && shown->has_device) {
            json_t *rep = dlb_cell_result_to_json(shown);
            json_t *device = json_incref(json_object_get(rep, "device"));
            json_decref(rep);
            return device;
        }
    }
    struct dlb_err ignored;
    char why[160] = "", name[96];
    const struct dlb_device *device = dlb_device_choose(&in->spec->device, NULL, why, &ignored);
    if (!device)
        return dlb_json_made(json_pack("{sn, sn, so, sn}", "kind", "name", "why",
                                       dlb_json_safe_text(ignored.what), "gpu"));
    dlb_cell_device_name(device, &in->spec->device, name, sizeof(name));
    return dlb_json_made(json_pack("{ss, so, so, sn}", "kind", device->name, "name",
                                   dlb_json_safe_text(name), "why", dlb_json_safe_text(why),
                                   "gpu"));
}

static json_t *verdict_json(const struct dlb_summary *in)
{
    if (in->judgement->best >= 0)
        return verdict(&in->judgement->cells[in->judgement->best]);
    struct dlb_judged_cell none = {.evidence.gain = {(double)NAN, (double)NAN, (double)NAN, 0}};
    dlb_judge(&none.evidence, &none.verdict);
    const struct dlb_judged_cell *cells = in->judgement->cells;
    if (in->results->interrupted)
        (void)snprintf(none.verdict.text, sizeof(none.verdict.text),
                       "interrupted before anything was measured.");
    for (uint32_t i = 0; i < in->plan->n_cells; i++)
        if (cells[i].status != DLB_CELL_SKIPPED) {
            none.verdict = cells[i].verdict;
            break;
        }
    if (in->judgement->verdict_text)
        (void)snprintf(none.verdict.text, sizeof(none.verdict.text), "%s",
                       in->judgement->verdict_text);
    return verdict(&none);
}

static json_t *index_or_null(int64_t index)
{
    return index < 0 ? json_null() : dlb_json_made(json_integer(index));
}

/* Whether more than one process measured it; null: one did. */
static json_t *resumed_json(const struct dlb_results *results)
{
    if (results->n_resumed == 0)
        return json_null();
    return dlb_json_made(json_pack("{sI, sI, so}", "times", (json_int_t)results->n_resumed,
                                   "unjudged_repetitions", (json_int_t)results->n_unjudged,
                                   "unjudged_s", dlb_json_real_or_null(results->unjudged_s)));
}

static void put_head(json_t *doc, const struct dlb_summary *in)
{
    char hash[17], source[DLB_OPT_STRING_CAP + 32];
    dlb_config_hash(in->cfg, hash);
    json_t *data = dlb_json_made(json_pack("{so, ss, sI, sI}", "id", dlb_json_hex(in->shape->id),
                                           "format", dlb_spec_format(in->spec)->name, "samples",
                                           (json_int_t)in->shape->n_samples, "bytes",
                                           (json_int_t)in->shape->total_bytes));
    dlb_json_put(doc, "schema_version", json_integer(DLB_SCHEMA_VERSION));
    dlb_json_put(doc, "command", dlb_json_made(json_string(in->command)));
    dlb_json_put(doc, "arguments", dlb_json_safe_text(in->arguments));
    dlb_json_put(doc, "run_name", dlb_json_safe_text(in->run_name));
    dlb_json_put(doc, "partial", json_boolean(in->partial));
    dlb_json_put(doc, "interrupted", json_boolean(in->results->interrupted));
    dlb_json_put(doc, "resumed", resumed_json(in->results));
    dlb_json_put(
        doc, "dlbench",
        dlb_json_made(json_pack("{ss, ss}", "version", in->version, "commit", in->commit)));
    dlb_json_put(doc, "environment", json_incref((json_t *)in->environment));
    dlb_json_put(doc, "dataset", data);
    dlb_json_put(doc, "config", dlb_json_made(dlb_config_resolved(in->cfg)));
    dlb_json_put(doc, "config_hash", dlb_json_made(json_string(hash)));
    dlb_json_put(doc, "rank", json_integer(in->spec->run.rank));
    dlb_json_put(doc, "world", json_integer(in->spec->run.world));
    json_t *device = device_json(in);
    dlb_json_put(device, "step_source",
                 dlb_json_safe_text(dlb_step_source(in->cfg, source, sizeof(source))));
    dlb_json_put(doc, "device", device);
}

/* Notes of the judge, and what opening the data set found: the way of access, what was left out. */
static json_t *notes_json(const struct dlb_summary *in)
{
    const struct dlb_shape *shape = in->shape;
    uint32_t n = dlb_shape_n_named(shape);
    json_t *notes = dlb_json_made(json_copy(in->judgement->notes));

    for (uint32_t i = 0; i < n; i++)
        dlb_note(notes, DLB_NOTE_DATA_ODD, "the data: %s", shape->odd[i]);
    if (shape->n_odd > n)
        dlb_note(notes, DLB_NOTE_DATA_ODD, "the data: %u more things like these", shape->n_odd - n);
    return notes;
}

static json_t *set_json(const struct dlb_judgement *j)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < j->n_set; i++)
        dlb_json_append(out, json_integer(j->set[i]));
    return out;
}

static void put_findings(json_t *doc, const struct dlb_summary *in)
{
    const struct dlb_judgement *j = in->judgement;
    dlb_json_put(doc, "verdict", verdict_json(in));
    dlb_json_put(doc, "best_cell", index_or_null(j->best));
    dlb_json_put(doc, "recommended_cell", index_or_null(j->recommended));
    dlb_json_put(doc, "ranked_by", json_string(rate_keys[j->ranked_by]));
    dlb_json_put(doc, "separable", json_boolean(j->separable));
    dlb_json_put(doc, "not_separable", set_json(j));
    dlb_json_put(doc, "noise_floor_frac", dlb_json_real_or_null(j->noise_floor_frac));
    dlb_json_put(doc, "too_busy", json_boolean(j->too_busy));
    dlb_json_put(doc, "tied_with_best", dlb_noise_tied_json(j));
    dlb_json_put(doc, "recommendation_detail", dlb_raced_detail_json(in->plan, j));
    dlb_json_put(doc, "recommendation", dlb_json_safe_text(j->text));
    dlb_json_put(doc, "pytorch", dlb_json_safe_text(j->pytorch));
    dlb_json_put(doc, "not_modelled", json_incref(j->not_modelled));
    dlb_json_put(doc, "notes", notes_json(in));
    dlb_json_put(doc, "axes", dlb_axes_to_json(&in->plan->axes));
    dlb_json_put(doc, "reference",
                 dlb_json_made(json_pack("{so, so}", "cell", index_or_null(in->plan->reference),
                                         "drift_frac", dlb_json_real_or_null(j->drift_frac))));
    dlb_json_put(doc, "ceilings", ceilings_json(in));
    dlb_json_put(doc, "cells", cells_json(in));
    if (j->storage)
        dlb_json_put(doc, "storage", json_incref(j->storage));
    if (j->gap)
        dlb_json_put(doc, "gap", json_incref(j->gap));
}

json_t *dlb_summary_build(const struct dlb_summary *in)
{
    json_t *doc = dlb_json_made(json_object());
    put_head(doc, in);
    put_findings(doc, in);
    dlb_ranks_summary_put(doc, in);
    return doc;
}
