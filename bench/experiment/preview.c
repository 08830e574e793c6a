#include "bench/experiment/preview.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/plan/preflight.h"
#include "scenarios/sweep/confirm.h"

#include <math.h>

/* Starting a process that opens a small data set, its workers and an emulated device, and ending
 * it: on a core of 3 GHz. */
#define START_S 0.05

static json_t *swept(const struct dlb_plan *plan, uint32_t number)
{
    json_t *out = dlb_json_made(json_object());
    uint32_t n_below = plan->n_cells; /* cells with the same values on the axes so far */
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        n_below /= (uint32_t)json_array_size(axis->values);
        dlb_json_put(out, axis->key, json_incref(json_array_get(axis->values, number / n_below)));
        number %= n_below;
    }
    return out;
}

static json_t *cell_json(const struct dlb_plan *plan, uint32_t i)
{
    const struct dlb_plan_cell *cell = &plan->cells[i];
    struct dlb_need need;
    json_t *out = dlb_json_made(json_pack("{si, so, ss}", "index", (int)i, "config", swept(plan, i),
                                          "status", cell->skipped ? "skipped" : "planned"));
    dlb_json_put(out, "code",
                 cell->skipped && cell->code < DLB_N_CODES ? json_string(dlb_code_name(cell->code))
                                                           : json_null());
    dlb_json_put(out, "reason", cell->skipped ? dlb_json_safe_text(cell->reason) : json_null());
    if (cell->skipped)
        return out;
    dlb_preflight_need(plan, i, &need);
    dlb_json_put(out, "workers", dlb_json_real_or_null(need.n_workers));
    dlb_json_put(out, "epoch_batches", dlb_json_real_or_null(need.epoch_batches));
    dlb_json_put(out, "batches", dlb_json_real_or_null(need.n_batches));
    dlb_json_put(out, "slots_bytes", dlb_json_real_or_null(need.slots_bytes));
    dlb_json_put(out, "pinned_bytes", dlb_json_real_or_null(need.pinned_bytes));
    dlb_json_put(out, "workers_bytes", dlb_json_real_or_null(need.workers_bytes));
    dlb_json_put(out, "decode_bytes", dlb_json_real_or_null(need.decode_bytes));
    dlb_json_put(out, "bytes_per_worker", dlb_json_real_or_null(need.each_bytes));
    dlb_json_put(out, "read_bytes", dlb_json_real_or_null(need.read_bytes));
    dlb_json_put(out, "least_s", dlb_json_real_or_null(need.least_s));
    return out;
}

/* Over all runs; what is not known counts as nothing. */
struct sums {
    double least_s, start_s, read_bytes;
    double cell_bytes; /* of the cell that takes most */
    int64_t most_cell;
    uint32_t n_warm;
};

static double known(double value)
{
    return isfinite(value) ? value : 0;
}

static double init_s(const struct dlb_spec *spec)
{
    double n = spec->loader.persistent_workers ? 1 : (double)spec->run.epochs;
    return spec->loader.worker_init_ms * 1e-3 * n;
}

static void add_cell(const struct dlb_plan *plan, uint32_t i, struct sums *sums)
{
    struct dlb_need need;
    dlb_preflight_need(plan, i, &need);
    double bytes = known(need.slots_bytes) + known(need.workers_bytes) + known(need.decode_bytes);
    sums->least_s += known(need.least_s) + init_s(plan->cells[i].spec);
    sums->read_bytes += known(need.read_bytes);
    if (bytes > sums->cell_bytes) {
        sums->cell_bytes = bytes;
        sums->most_cell = i;
    }
}

static struct sums sum_up(const struct dlb_preview *in)
{
    const struct dlb_plan *plan = in->plan;
    struct sums sums = {.most_cell = -1, .start_s = plan->n_tasks * START_S};
    for (uint32_t i = 0; i < plan->n_tasks; i++) {
        const struct dlb_task *task = &plan->tasks[i];
        const struct dlb_spec *spec = NULL;
        switch (task->kind) {
        case DLB_TASK_CELL:
        case DLB_TASK_REFERENCE:
            add_cell(plan, task->index, &sums);
            sums.start_s += in->open_s;
            break;
        case DLB_TASK_CEILING:
            spec = &plan->ceilings[task->index];
            sums.least_s += (double)spec->run.max_batches * spec->device.step_ms * 1e-3;
            break;
        case DLB_TASK_WARM:
            sums.n_warm++;
            sums.read_bytes += (double)plan->host.n_bytes;
            sums.start_s += in->open_s;
            break;
        case DLB_TASK_BASELINE:
        case DLB_TASK_IN_C:
            break;
        }
    }
    return sums;
}

/* PyTorch's own cells after the race, or why there are none; null where nobody asked. */
static json_t *torch_json(const struct dlb_preview *in)
{
    const struct dlb_plan_torch *torch = &in->plan->torch;
    if (!torch->there && !torch->why[0])
        return json_null();
    json_t *keys = dlb_json_made(json_array());
    uint32_t n = torch->there ? dlb_confirm_foretell(in->plan, in->n_cpus, keys) : 0;
    double max_s = in->subject->spec.sweep.max_minutes * 60;
    bool timed = torch->there && max_s > 0;
    json_t *out = dlb_json_made(
        json_pack("{sb, si, so}", "follows", torch->there, "most_cells", (int)n, "keys", keys));
    dlb_json_put(out, "from_s", timed ? json_real(max_s * DLB_CONFIRM_SHARE) : json_null());
    dlb_json_put(out, "to_s", timed ? json_real(max_s) : json_null());
    dlb_json_put(out, "code",
                 torch->code < DLB_N_CODES && !torch->there
                     ? json_string(dlb_code_name(torch->code))
                     : json_null());
    dlb_json_put(out, "reason", torch->there ? json_null() : dlb_json_safe_text(torch->why));
    return out;
}

/* What else takes memory while a cell runs, and is not known: names that do not change. */
static json_t *not_counted(const struct dlb_plan *plan)
{
    bool python = plan->torch.there, decodes = false, other_data = false;
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_plan_cell *cell = &plan->cells[i];
        if (cell->skipped)
            continue;
        python = python || dlb_spec_is_torch(cell->spec);
        decodes = decodes || (!dlb_spec_format(cell->spec)->synthetic &&
                              dlb_codecs[cell->spec->dataset.codec]->images);
        other_data = other_data || !dlb_spec_same_data(cell->spec, plan->cells[0].spec);
    }
    if (python)
        dlb_json_append(out, json_string("python"));
    if (decodes)
        dlb_json_append(out, json_string("pixels"));
    if (other_data)
        dlb_json_append(out, json_string("other_data"));
    return out;
}

/* A warm pass leaves the data in the page cache while the cells run. It is left out where memory
 * cannot hold them (scenarios/cell/data.c). */
static double page_cache_bytes(const struct dlb_plan *plan, const struct sums *sums)
{
    double bytes = (double)plan->host.n_bytes;
    bool fits = plan->host.available_bytes == 0 || bytes <= (double)plan->host.available_bytes;
    return sums->n_warm > 0 && fits ? bytes : 0;
}

static json_t *memory_json(const struct dlb_plan *plan, const struct sums *sums)
{
    double cached = page_cache_bytes(plan, sums);
    return dlb_json_made(json_pack(
        "{so, so, so, so, so, so}", "most_bytes", dlb_json_real_or_null(sums->cell_bytes + cached),
        "cell", sums->most_cell < 0 ? json_null() : json_integer(sums->most_cell), "cell_bytes",
        dlb_json_real_or_null(sums->cell_bytes), "page_cache_bytes", dlb_json_real_or_null(cached),
        "not_counted", not_counted(plan), "available_bytes",
        plan->host.available_bytes ? json_integer((json_int_t)plan->host.available_bytes)
                                   : json_null()));
}

json_t *dlb_preview_json(const struct dlb_preview *in)
{
    const struct dlb_plan *plan = in->plan;
    const struct dlb_spec *spec = &in->subject->spec;
    struct sums sums = sum_up(in);
    json_t *cells = dlb_json_made(json_array());
    uint32_t n_skipped = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        dlb_json_append(cells, cell_json(plan, i));
        n_skipped += plan->cells[i].skipped;
    }
    json_t *out = dlb_json_made(json_pack(
        "{ss, sb, si, si, si, si, si, sb}", "command", in->scenario->name, "dry_run", 1, "n_cells",
        (int)plan->n_cells, "n_skipped", (int)n_skipped, "blocks", (int)plan->n_blocks, "runs",
        (int)plan->n_tasks, "warm_passes", (int)sums.n_warm, "grows", (int)plan->grows));
    dlb_json_put(out, "dataset",
                 dlb_json_made(json_pack("{ss, so, sI, sI}", "format", dlb_spec_format(spec)->name,
                                         "path", dlb_json_safe_text(spec->dataset.path), "samples",
                                         (json_int_t)in->subject->shape.n_samples, "bytes",
                                         (json_int_t)in->subject->shape.total_bytes)));
    dlb_json_put(out, "memory", memory_json(plan, &sums));
    dlb_json_put(out, "world", json_integer(spec->run.world)); /* figures are those of one rank */
    /* What least_s, start_s, estimate_s and read_bytes are of. */
    dlb_json_put(out, "covers", json_string(plan->grows ? "first_block" : "all"));
    dlb_json_put(out, "read_bytes", dlb_json_real_or_null(sums.read_bytes));
    dlb_json_put(out, "start_s", dlb_json_real_or_null(sums.start_s));
    dlb_json_put(out, "least_s", dlb_json_real_or_null(sums.least_s));
    dlb_json_put(out, "estimate_s", dlb_json_real_or_null(sums.least_s + sums.start_s));
    dlb_json_put(out, "max_s",
                 plan->race && plan->race->max_s > 0 ? json_real(plan->race->max_s) : json_null());
    dlb_json_put(out, "pytorch", torch_json(in));
    dlb_json_put(out, "axes", dlb_axes_to_json(&plan->axes));
    dlb_json_put(out, "cells", cells);
    return out;
}
