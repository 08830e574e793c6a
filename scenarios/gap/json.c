/* `gap` of summary.json. */
#include "scenarios/gap/gap.h"

#include "scenarios/spec/flat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *seconds_json(const struct dlb_gap_judged *rung)
{
    const struct dlb_estimate *e = &rung->seconds;
    bool ok = rung->status == DLB_GAP_OK;
    json_t *values = json_array();
    for (uint32_t i = 0; values && ok && i < rung->n_values; i++)
        (void)json_array_append_new(values, json_real(rung->values[i]));
    return json_pack("{so, so, so, ss, so}", "median", dlb_json_real_or_null(ok ? e->median : NAN),
                     "low", dlb_json_real_or_null(ok ? e->low : NAN), "high",
                     dlb_json_real_or_null(ok ? e->high : NAN), "interval",
                     dlb_interval_name(ok ? e->interval : DLB_INTERVAL_NONE), "values", values);
}

static json_t *get_or_null(const json_t *doc, const char *key)
{
    json_t *value = json_object_get(doc, key);
    return value ? json_incref(value) : json_null();
}

/* What the kernel accounts, and what is counted beside it. */
static json_t *os_json(const struct dlb_gap_judged *rung)
{
    static const char *const beside[] = {"faults", "copy_calls", "sync_calls", "liveness_polls",
                                         "huge_pages"};
    json_t *out = json_object(), *os = json_object_get(rung->shown, "os");
    bool ok = out && dlb_json_put(out, "process", get_or_null(os, "process")) &&
              dlb_json_put(out, "threads", get_or_null(os, "threads")) &&
              dlb_json_put(out, "page_bytes", get_or_null(os, "page_bytes"));
    for (size_t i = 0; ok && i < sizeof(beside) / sizeof(beside[0]); i++)
        ok = dlb_json_put(out, beside[i], get_or_null(rung->shown, beside[i]));
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

/* Not every repetition sums its content. */
static json_t *checksum_json(const struct dlb_gap_judged *rung)
{
    const json_t *doc;
    size_t i;
    json_array_foreach(rung->docs, i, doc)
        if (rung->status == DLB_GAP_OK && dlb_json_text(doc, "checksum")[0])
            return get_or_null(doc, "checksum");
    return json_null();
}

static json_t *rung_json(const struct dlb_gap_judged *rung)
{
    static const char *const status[] = {"ok", "not-measured", "failed"};
    static const char *const shown[] = {"parts", "worker_parts", "start_up"};
    json_t *out = json_object();
    bool ok = out && dlb_json_put(out, "rung", json_string(rung->name)) &&
              dlb_json_put(out, "status", json_string(status[rung->status])) &&
              dlb_json_put(out, "reason",
                           rung->reason[0] ? dlb_json_safe_text(rung->reason) : json_null()) &&
              dlb_json_put(out, "seconds", seconds_json(rung)) &&
              dlb_json_put(out, "ratio_to_direct", dlb_json_real_or_null(rung->to_direct)) &&
              dlb_json_put(out, "ratio_to_floor", dlb_json_real_or_null(rung->to_floor)) &&
              dlb_json_put(out, "step_seconds", dlb_json_real_or_null(rung->step_seconds)) &&
              dlb_json_put(out, "step_from",
                           rung->step_from ? json_string(rung->step_from) : json_null());
    for (size_t i = 0; ok && i < sizeof(shown) / sizeof(shown[0]); i++)
        ok = dlb_json_put(out, shown[i], get_or_null(rung->shown, shown[i]));
    if (ok && dlb_json_put(out, "checksum", checksum_json(rung)) &&
        dlb_json_put(out, "os", os_json(rung)))
        return out;
    json_decref(out);
    return NULL;
}

static json_t *part_json(const struct dlb_gap_judgement *j, int i)
{
    const struct dlb_gap_share *part = &j->part[i];
    return json_pack("{ss, so, so, so, so, so}", "part", dlb_gap_cause_names[i], "seconds",
                     dlb_json_real_or_null(part->seconds), "frac",
                     dlb_json_real_or_null(part->seconds / j->total_seconds), "removed_by",
                     part->removed_by ? json_string(part->removed_by) : json_null(), "removed_with",
                     part->removed_with ? json_string(part->removed_with) : json_null(),
                     "removes_seconds", dlb_json_real_or_null(part->removes_seconds));
}

static json_t *python_json(const struct dlb_gap_python *python)
{
    return json_pack("{so, so, so, so}", "path",
                     python->found ? dlb_json_safe_text(python->path) : json_null(), "torch",
                     python->found ? dlb_json_safe_text(python->torch) : json_null(), "threads",
                     python->n_threads > 0 ? json_integer(python->n_threads) : json_null(), "tried",
                     python->tried ? json_incref(python->tried) : json_array());
}

json_t *dlb_gap_json(const struct dlb_gap_judge_input *in, const struct dlb_gap_judgement *j)
{
    json_t *rungs = json_array(), *parts = json_array(), *out = json_object();
    bool ok = rungs && parts && out;
    for (uint32_t i = 0; ok && i < j->n_rungs; i++)
        ok = json_array_append_new(rungs, rung_json(&j->rung[i])) == 0;
    for (int i = 0; ok && j->decomposed && i < DLB_GAP_N_CAUSES; i++)
        ok = json_array_append_new(parts, part_json(j, i)) == 0;
    ok = ok && dlb_json_put(out, "rungs", json_incref(rungs)) &&
         dlb_json_put(out, "decomposition", json_incref(parts)) &&
         dlb_json_put(out, "total_seconds", dlb_json_real_or_null(j->total_seconds)) &&
         dlb_json_put(out, "python", python_json(in->python)) &&
         dlb_json_put(out, "shrunk", in->said[0] ? json_string(in->said) : json_null()) &&
         dlb_json_put(out, "machine_stolen_frac", dlb_json_real_or_null(in->stolen_frac)) &&
         dlb_json_put(out, "text", dlb_json_safe_text(j->text));
    json_decref(rungs);
    json_decref(parts);
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

static bool note(json_t *notes, const char *text)
{
    return json_array_append_new(notes, dlb_json_safe_text(text)) == 0;
}

/* What a reader should know beside the ladder. */
static bool fill_notes(const struct dlb_gap_judge_input *in, const struct dlb_device *device,
                       struct dlb_judgement *out)
{
    bool ok = out->set && out->notes && out->not_modelled;
    bool buffer = in->params->target == DLB_GAP_TARGET_BUFFER;
    if (ok && buffer)
        ok = note(out->notes, "gap.target = \"buffer\": batches were copied to one buffer in this "
                              "host's memory; no device, no step");
    else if (ok && device->emulated)
        ok = note(out->not_modelled, "the GPU: copies and steps take modelled time, no GPU was "
                                     "measured");
    if (ok && in->python->found && device->emulated)
        ok = note(out->notes, "torch-dataloader-workers and torch-out-of-order ask for pin_memory, "
                              "and PyTorch leaves it out where it finds no accelerator");
    if (ok && in->python->n_threads > 1) {
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "PyTorch copies and gathers whole lists with %" PRIu32 " threads, items "
                       "one by one with one: what lists gain holds that, too",
                       in->python->n_threads);
        ok = note(out->notes, text);
    }
    return ok && (!in->said[0] || note(out->notes, in->said));
}

json_t *dlb_gap_summary(const struct dlb_summary *head, const struct dlb_gap_judge_input *in,
                        const struct dlb_gap_judgement *j, const struct dlb_device *device,
                        struct dlb_err *err)
{
    struct dlb_plan no_cells = {.axes = json_object(), .reference = -1, .seed = in->plan->seed};
    struct dlb_results results = {.interrupted = in->results->interrupted};
    struct dlb_judgement none = {.best = -1,
                                 .recommended = -1,
                                 .set = json_array(),
                                 .not_modelled = json_array(),
                                 .notes = json_array(),
                                 .drift_frac = (double)NAN};
    struct dlb_summary all = *head;
    json_t *doc = NULL, *gap = dlb_gap_json(in, j);
    all.plan = &no_cells;
    all.results = &results;
    all.judgement = &none;
    if (!no_cells.axes || !gap || !fill_notes(in, device, &none))
        (void)dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the summary");
    else
        doc = dlb_summary_build(&all, err);
    if (doc && (json_object_set(doc, "gap", gap) ||
                json_object_set_new(json_object_get(doc, "verdict"), "text",
                                    json_string("a ladder judges no pipeline: gap.text says what "
                                                "it found.")))) {
        (void)dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the summary");
        json_decref(doc);
        doc = NULL;
    }
    json_decref(gap);
    dlb_judgement_free(&none, &no_cells);
    dlb_plan_free(&no_cells);
    return doc;
}
