/* The in-memory ladder: `dlbench gap`. Its cells are rungs, which other programs measure: this one
 * under another verb, and a Python interpreter. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "core/base/say.h"
#include "scenarios/gap/fit.h"
#include "scenarios/gap/judge.h"
#include "scenarios/gap/pace.h"
#include "scenarios/gap/plan.h"
#include "scenarios/gap/summary.h"
#include "scenarios/scenario.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gap {
    struct dlb_gap_opts opts;
    struct dlb_gap_python_opts of_python;
    struct dlb_gap_params params;
    const struct dlb_device *device;
    struct dlb_gap_python python;
    char exe[PATH_MAX];
    char said[256]; /* how the size was reduced; "" */
};

static int read_options(struct gap *g, const struct dlb_config *cfg, struct dlb_err *err)
{
    if (json_object_size(dlb_config_axes(cfg)) > 0)
        return dlb_fail(err, DLB_ERR_GAP_SWEPT, NULL, DLB_NO_OFFSET,
                        "gap sweeps nothing: give each key one value");
    dlb_config_fill(cfg, &dlb_gap_ladder_group, &g->opts);
    dlb_config_fill(cfg, &dlb_gap_python_group, &g->of_python);
    dlb_gap_params_fill(&g->params, cfg);
    return DLB_OK;
}

/* The result's configuration has the measured size, not the requested one. */
static int settle(struct gap *g, struct dlb_config *cfg, struct dlb_err *err)
{
    struct dlb_gap_params *p = &g->params;
    bool said = dlb_config_has(cfg, "device.step_ms");
    if (!said) /* the same network on fewer rows */
        p->device.step_ms = DLB_GAP_STEP_MS_PER_SAMPLE * (double)p->batch_size;
    const struct {
        const char *key;
        json_t *value;
        const char *origin;
    } settled[] = {
        {"gap.samples", json_integer(p->samples), "gap"},
        {"gap.batch_size", json_integer(p->batch_size), "gap"},
        {"gap.workers", json_integer(p->workers), "gap"},
        {"device.step_ms", json_real(p->device.step_ms),
         said ? dlb_config_origin(cfg, "device.step_ms") : "default"},
    };
    int rc = DLB_OK;
    for (size_t i = 0; i < sizeof(settled) / sizeof(settled[0]); i++) {
        if (!rc)
            rc = dlb_config_set_json(cfg, settled[i].key, settled[i].value, settled[i].origin, err);
        json_decref(settled[i].value);
    }
    return rc;
}

/* The array, as summary.json describes a data set. */
static void describe(const struct dlb_gap_params *params, struct dlb_subject *out)
{
    dlb_spec_defaults(&out->spec);
    out->spec.dataset.format = dlb_opt_place(dlb_format_names, "memory");
    out->spec.device = params->device;
    out->shape = (struct dlb_shape){.n_samples = (uint64_t)params->samples,
                                    .total_bytes = dlb_gap_array_bytes(params),
                                    .id = (uint64_t)params->seed};
}

static void release(void *own)
{
    struct gap *g = own;
    if (!g)
        return;
    dlb_gap_python_close(&g->python);
    free(g);
}

static int check(const struct dlb_config *cfg, struct dlb_err *err)
{
    struct gap *g = dlb_mem_new(sizeof(*g));
    int rc = read_options(g, cfg, err);
    free(g);
    return rc;
}

/* A run that is gone on with has the size that it began with, however fast the machine is now. */
static void take_begun(struct gap *g, const json_t *begun)
{
    g->params.samples = json_integer_value(json_object_get(begun, "gap.samples"));
    g->params.batch_size = json_integer_value(json_object_get(begun, "gap.batch_size"));
    (void)snprintf(g->said, sizeof(g->said), "as many rows as the run began with");
}

/* Where no number of rows is given, they are as many as three minutes allow. */
static void fit_time(struct gap *g, const struct dlb_prepare_input *in)
{
    const struct dlb_config *cfg = in->cfg;
    struct dlb_gap_pace pace = {.torch_row_s = g->python.row_s, .import_s = g->python.import_s};
    if (dlb_config_has(cfg, "gap.samples"))
        return;
    if (in->begun) {
        take_begun(g, in->begun);
        return;
    }
    dlb_gap_pace_measure(&g->params, &pace);
    dlb_gap_fit_time(&g->params, !dlb_config_has(cfg, "gap.batch_size"), g->opts.repeats, &pace,
                     g->said);
    if (g->said[0])
        dlb_say_note("%s", g->said);
}

/* What memory says replaces what time said: it is the smaller size. */
static int fit_memory(struct gap *g, const struct dlb_prepare_input *in, struct dlb_err *err)
{
    char said[sizeof g->said];
    int rc = dlb_gap_shrink(&g->params, in->available_bytes, g->python.found, said, err);
    if (!rc && said[0])
        memcpy(g->said, said, sizeof said);
    return rc;
}

static int prepare(const struct dlb_prepare_input *in, struct dlb_subject *out, struct dlb_err *err)
{
    struct gap *g = dlb_mem_new(sizeof(*g));
    char why[160];
    out->own = g;
    int rc = read_options(g, in->cfg, err);
    if (!rc)
        rc = dlb_gap_python_find(
            &g->python, g->opts.python[0] ? g->opts.python : g->of_python.interpreter,
            g->params.features, in->scratch, DLB_GAP_PYTHON_LIMIT_S, in->cancel, err);
    if (!rc && !(g->device = dlb_device_choose(&g->params.device, NULL, why, err)))
        rc = (int)err->status;
    if (!rc)
        fit_time(g, in);
    if (!rc)
        rc = fit_memory(g, in, err);
    if (!rc)
        rc = settle(g, in->cfg, err);
    if (!rc && readlink("/proc/self/exe", g->exe, sizeof(g->exe) - 1) < 0)
        rc = dlb_fail_errno(err, "/proc/self/exe", DLB_NO_OFFSET, "cannot read the program's path");
    if (rc)
        return rc;
    if (g->python.found && g->python.passed[0])
        dlb_say_note("the PyTorch rungs are measured with %s: %s", g->python.path,
                     g->python.passed);
    if (!g->python.found && g->python.failure == DLB_GAP_PYTHON_ANSWERED)
        dlb_say_note("the PyTorch rungs are not measured: %s", g->python.reason);
    describe(&g->params, out);
    return DLB_OK;
}

/* How the ladder is measured is not a rung's. */
static void leave_out(const struct dlb_opt_group *group, json_t *flat)
{
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "%s.%s", group->section, opt->key);
        (void)json_object_del(flat, key);
    }
}

static int plan(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    const struct gap *g = in->own;
    json_t *flat = dlb_json_made(dlb_config_resolved(in->cfg));
    (void)err;
    leave_out(&dlb_gap_ladder_group, flat);
    leave_out(&dlb_gap_python_group, flat);
    struct dlb_gap_plan_input ladder = {.params = &g->params,
                                        .repeats = g->opts.repeats,
                                        .flat = flat,
                                        .exe = g->exe,
                                        .python = &g->python,
                                        .device = g->device};
    dlb_gap_plan(&ladder, out);
    out->own = in->own;
    json_decref(flat);
    return DLB_OK;
}

/* A rung as a cell, which is how the driver counts and reports. */
static void judge_cell(const struct dlb_gap_judged *rung, struct dlb_judged_cell *out)
{
    out->status = rung->status == DLB_GAP_OK       ? DLB_CELL_OK
                  : rung->status == DLB_GAP_FAILED ? DLB_CELL_FAILED
                                                   : DLB_CELL_SKIPPED;
    out->code = rung->status == DLB_GAP_FAILED ? rung->code : DLB_N_CODES;
    out->error = rung->status == DLB_GAP_FAILED ? dlb_code_status(rung->code) : DLB_OK;
    dlb_cut_text(out->reason, sizeof(out->reason), rung->reason);
    dlb_judge(&out->evidence, &out->verdict);
}

static void judge(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                  struct dlb_judgement *out)
{
    const struct gap *g = plan->own;
    struct dlb_gap_setting setting = {.params = &g->params,
                                      .python = &g->python,
                                      .said = g->said,
                                      .stolen_frac = results->stolen_frac};
    struct dlb_gap_judgement *ladder = dlb_mem_new(sizeof(*ladder));
    (void)n_cpus;
    dlb_gap_judge(plan, results, &setting, ladder);
    *out = (struct dlb_judgement){
        .cells = dlb_mem_array(plan->n_cells, sizeof(*out->cells)),
        .n_cells = plan->n_cells,
        .best = -1,
        .recommended = -1,
        .not_modelled = dlb_json_made(json_array()),
        .notes = dlb_json_made(json_array()),
        .drift_frac = (double)NAN,
        .noise_floor_frac = ladder->noise_floor_frac,
        .gap = dlb_gap_json(&setting, ladder),
        .verdict_text = "the ladder has no verdict on a pipeline: gap.text says what it found."};
    for (uint32_t i = 0; i < ladder->n_rungs; i++)
        judge_cell(&ladder->rung[i], &out->cells[i]);
    dlb_gap_notes(&setting, g->device, out);
    dlb_gap_judgement_free(ladder);
    free(ladder);
}

const struct dlb_scenario dlb_sc_gap = {
    .name = "gap",
    .summary = "where the time of an in-memory DataLoader goes, and what closes the gap",
    .check = check,
    .prepare = prepare,
    .plan = plan,
    .judge = judge,
    .release = release,
};
