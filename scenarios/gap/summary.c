#include "scenarios/gap/summary.h"

#include "core/base/json.h"
#include "scenarios/judge/note.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static json_t *seconds_json(const struct dlb_gap_judged *rung)
{
    static const struct dlb_estimate none = {.n = 0};
    bool ok = rung->status == DLB_GAP_OK;
    json_t *values = dlb_json_made(json_array());
    for (uint32_t i = 0; ok && i < rung->n_values; i++)
        dlb_json_append(values, dlb_json_real_or_null(rung->values[i]));
    json_t *out = dlb_estimate_to_json(ok ? &rung->seconds : &none);
    dlb_json_put(out, "values", values);
    return out;
}

/* Only some repetitions checksum their content: the first that did. */
static json_t *checksum_json(const struct dlb_gap_judged *rung)
{
    for (uint32_t i = 0; i < rung->n_results && rung->status == DLB_GAP_OK; i++)
        if (rung->result[i].checksum[0])
            return dlb_json_text_or_null(rung->result[i].checksum);
    return json_null();
}

static json_t *rung_json(const struct dlb_gap_judged *rung)
{
    static const char *const status[] = {"ok", "not-measured", "failed"};
    const struct dlb_rung_result *shown = rung->shown;
    struct dlb_rung_result none;
    json_t *out = dlb_json_made(json_object());
    dlb_rung_result_init(&none);
    dlb_json_put(out, "rung", dlb_json_safe_text(rung->name));
    dlb_json_put(out, "status", dlb_json_safe_text(status[rung->status]));
    dlb_json_put(out, "code",
                 rung->status == DLB_GAP_FAILED && rung->code < DLB_N_CODES
                     ? dlb_json_made(json_string(dlb_code_name(rung->code)))
                     : json_null());
    dlb_json_put(out, "reason", dlb_json_text_or_null(rung->reason));
    dlb_json_put(out, "seconds", seconds_json(rung));
    dlb_json_put(out, "ratio_to_direct", dlb_json_real_or_null(rung->to_direct));
    dlb_json_put(out, "ratio_to_floor", dlb_json_real_or_null(rung->to_floor));
    dlb_json_put(out, "step_seconds", dlb_json_real_or_null(rung->step_seconds));
    dlb_json_put(out, "step_from", dlb_json_text_or_null(rung->step_from));
    dlb_json_put(out, "parts", shown ? dlb_rung_parts_json(&shown->parts) : json_null());
    dlb_json_put(out, "worker_parts",
                 shown ? dlb_rung_parts_json(&shown->worker_parts) : json_null());
    dlb_json_put(out, "start_up", shown ? dlb_rung_start_up_json(&shown->start_up) : json_null());
    dlb_json_put(out, "checksum", checksum_json(rung));
    dlb_json_put(out, "os", dlb_rung_kernel_json(shown ? shown : &none));
    return out;
}

static json_t *part_json(const struct dlb_gap_judgement *j, int i)
{
    const struct dlb_gap_share *part = &j->part[i];
    return dlb_json_made(json_pack(
        "{ss, ss, so, so, so, so, so, so, so}", "part", dlb_gap_cause_names[i], "label",
        dlb_gap_label_names[part->label], "low", dlb_json_real_or_null(part->low), "high",
        dlb_json_real_or_null(part->high), "seconds", dlb_json_real_or_null(part->seconds), "frac",
        dlb_json_real_or_null(part->seconds / j->total_seconds), "removed_by",
        dlb_json_text_or_null(part->removed_by), "removed_with",
        dlb_json_text_or_null(part->removed_with), "removes_seconds",
        dlb_json_real_or_null(part->removes_seconds)));
}

static json_t *python_json(const struct dlb_gap_python *python)
{
    return dlb_json_made(json_pack(
        "{so, so, so, so}", "path", dlb_json_text_or_null(python->found ? python->path : NULL),
        "torch", dlb_json_text_or_null(python->found ? python->torch : NULL), "threads",
        python->n_threads > 0 ? json_integer(python->n_threads) : json_null(), "tried",
        python->tried ? json_incref(python->tried) : json_array()));
}

json_t *dlb_gap_json(const struct dlb_gap_setting *setting, const struct dlb_gap_judgement *j)
{
    json_t *rungs = dlb_json_made(json_array()), *parts = dlb_json_made(json_array());
    json_t *out = dlb_json_made(json_object());
    for (uint32_t i = 0; i < j->n_rungs; i++)
        dlb_json_append(rungs, rung_json(&j->rung[i]));
    for (int i = 0; j->decomposed && i < DLB_GAP_N_CAUSES; i++)
        dlb_json_append(parts, part_json(j, i));
    dlb_json_put(out, "rungs", rungs);
    dlb_json_put(out, "decomposition", parts);
    dlb_json_put(out, "total_seconds", dlb_json_real_or_null(j->total_seconds));
    dlb_json_put(out, "total_low", dlb_json_real_or_null(j->total_low));
    dlb_json_put(out, "total_high", dlb_json_real_or_null(j->total_high));
    dlb_json_put(out, "blocks", json_integer((json_int_t)j->n_blocks));
    dlb_json_put(out, "python", python_json(setting->python));
    dlb_json_put(out, "shrunk", dlb_json_text_or_null(setting->said));
    dlb_json_put(out, "machine_stolen_frac", dlb_json_real_or_null(setting->stolen_frac));
    dlb_json_put(out, "text", dlb_json_safe_text(j->text));
    return out;
}

/* Notes on the ladder. */
void dlb_gap_notes(const struct dlb_gap_setting *setting, const struct dlb_device *device,
                   struct dlb_judgement *out)
{
    const struct dlb_gap_python *python = setting->python;
    if (setting->params->target == DLB_GAP_TARGET_BUFFER)
        dlb_note(out->notes, DLB_NOTE_GAP_BUFFER,
                 "gap.target = \"buffer\": batches were copied to one buffer in host memory; there "
                 "was no device and no step");
    else if (device->emulated)
        dlb_note(out->not_modelled, DLB_NOTE_NO_GPU,
                 "the GPU: copies and steps take modelled time, and no GPU was measured");
    if (python->found && device->emulated)
        dlb_note(out->notes, DLB_NOTE_GAP_PIN_IGNORED,
                 "torch-dataloader-workers and torch-out-of-order set pin_memory, but PyTorch "
                 "ignores it without an accelerator");
    if (python->found && python->n_threads > 1)
        dlb_note(out->notes, DLB_NOTE_GAP_TORCH_THREADS,
                 "PyTorch copies and gathers whole lists with %" PRIu32
                 " threads, but single items "
                 "with one thread: the gain of lists includes that",
                 python->n_threads);
    if (python->found && python->passed[0])
        dlb_note(out->notes, DLB_NOTE_GAP_PYTHON_PASSED,
                 "the PyTorch rungs were measured with %s, because another interpreter failed: %s",
                 python->path, python->passed);
    if (!python->found && python->failure == DLB_GAP_PYTHON_ANSWERED)
        dlb_note(out->notes, DLB_NOTE_GAP_NO_TORCH, "the PyTorch rungs are not measured: %s",
                 python->reason);
    if (setting->said[0])
        dlb_note(out->notes, DLB_NOTE_GAP_SHRUNK, "%s", setting->said);
}
