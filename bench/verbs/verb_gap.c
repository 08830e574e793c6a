#include "bench/cli/libraries.h"
#include "bench/cli/verb.h"
#include "bench/cli/version.h"
#include "bench/experiment/result.h"
#include "bench/experiment/watch.h"
#include "core/base/clock.h"
#include "core/host/environment.h"
#include "core/host/osacct.h"
#include "scenarios/gap/gap.h"
#include "scenarios/run/runner.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gap {
    const struct dlb_args *args;
    struct dlb_gap_opts opts;
    struct dlb_gap_params params;
    struct dlb_spec spec; /* for the summary: data set and device */
    const struct dlb_device *device;
    struct dlb_gap_python python;
    struct dlb_plan plan;
    struct dlb_results results;
    struct dlb_result_folder folder;
    json_t *environment;
    struct dlb_watch watch;
    struct dlb_os_machine machine_before; /* the first rung */
    char exe[PATH_MAX], said[256];
};

static int read_options(struct gap *g, struct dlb_err *err)
{
    struct dlb_config *cfg = g->args->cfg;
    if (json_object_size(dlb_config_axes(cfg)) > 0)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "gap sweeps nothing: give each key one value");
    int rc = dlb_config_fill(cfg, &dlb_gap_ladder_group, &g->opts, err);
    return rc ? rc : dlb_gap_params_fill(&g->params, cfg, err);
}

/* What is measured, not what was asked: the configuration of the result says it. */
static int settle(struct gap *g, struct dlb_err *err)
{
    struct dlb_gap_params *p = &g->params;
    if (!dlb_config_has(g->args->cfg, "device.step_ms")) /* the same network on fewer rows */
        p->device.step_ms = DLB_GAP_STEP_MS_PER_SAMPLE * (double)p->batch_size;
    const struct {
        const char *key;
        json_t *value;
    } settled[] = {{"gap.samples", json_integer(p->samples)},
                   {"gap.batch_size", json_integer(p->batch_size)},
                   {"gap.workers", json_integer(p->workers)},
                   {"device.step_ms", json_real(p->device.step_ms)}};
    int rc = DLB_OK;
    for (size_t i = 0; i < sizeof(settled) / sizeof(settled[0]); i++) {
        if (!rc)
            rc = dlb_config_set_json(g->args->cfg, settled[i].key, settled[i].value, "gap", err);
        json_decref(settled[i].value);
    }
    for (size_t i = 0; dlb_formats[i]; i++)
        if (strcmp(dlb_formats[i]->name, "memory") == 0)
            g->spec.dataset.format = (int)i;
    g->spec.device = p->device;
    g->spec.run.world = 1;
    return rc;
}

static int make_plan(struct gap *g, struct dlb_err *err)
{
    json_t *flat = dlb_config_resolved(g->args->cfg);
    ssize_t n = readlink("/proc/self/exe", g->exe, sizeof(g->exe) - 1);
    if (!flat || n <= 0) {
        json_decref(flat);
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a plan");
    }
    for (const struct dlb_opt *opt = dlb_gap_ladder_group.opts; opt->key; opt++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "%s.%s", dlb_gap_ladder_group.section, opt->key);
        (void)json_object_del(flat, key);
    }
    struct dlb_gap_plan_input in = {.params = &g->params,
                                    .repeats = g->opts.repeats,
                                    .flat = flat,
                                    .exe = g->exe,
                                    .python = &g->python,
                                    .device = g->device};
    int rc = dlb_gap_plan(&in, &g->plan, err);
    json_decref(flat);
    return rc ? rc : dlb_results_init(&g->results, &g->plan, err);
}

static int prepare(struct gap *g, struct dlb_err *err)
{
    char why[160];
    int rc = read_options(g, err);
    if (!rc)
        rc = dlb_result_open(g->args, "gap", &g->folder, err);
    if (rc)
        return rc;
    dlb_progress_begin(&g->watch.progress, "gap");
    dlb_progress_update(&g->watch.progress, 0.0, "looking for an interpreter with torch");
    dlb_catch_interrupts();
    rc = dlb_gap_python_find(&g->python, g->opts.python, g->folder.scratch, &dlb_interrupted, err);
    if (!rc && !(g->device = dlb_device_choose(&g->params.device, NULL, why, err)))
        rc = (int)err->status;
    if (!rc)
        rc =
            dlb_gap_shrink(&g->params, dlb_os_mem_available_bytes(), g->python.found, g->said, err);
    if (!rc)
        rc = settle(g, err);
    if (!rc)
        rc = make_plan(g, err);
    if (rc)
        return rc;
    g->environment = dlb_environment(NULL);
    if (!g->environment || !dlb_libraries_add(g->environment))
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "out of memory for the description of the host");
    return DLB_OK;
}

/* Judges what there is. *doc: new reference. */
static int build(const struct gap *g, bool unfinished, struct dlb_gap_judgement *j, json_t **doc,
                 struct dlb_err *err)
{
    struct dlb_gap_judge_input in = {.plan = &g->plan,
                                     .results = &g->results,
                                     .params = &g->params,
                                     .python = &g->python,
                                     .said = g->said,
                                     .stolen_frac = (double)NAN};
    struct dlb_shape shape = {.n_samples = (uint64_t)g->params.samples,
                              .total_bytes = dlb_gap_array_bytes(&g->params),
                              .id = (uint64_t)g->params.seed};
    struct dlb_summary head = {.command = "gap",
                               .run_name = g->folder.name,
                               .version = DLB_VERSION,
                               .commit = DLB_COMMIT,
                               .environment = g->environment,
                               .shape = &shape,
                               .spec = &g->spec,
                               .cfg = g->args->cfg,
                               .partial = unfinished || g->results.interrupted};
    struct dlb_os_machine now;
    dlb_os_machine(&now);
    if (g->watch.start_ns > 0)
        in.stolen_frac = dlb_os_stolen_frac(&g->machine_before, &now);
    int rc = dlb_gap_judge(&in, j, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < j->n_rungs; i++)
        head.partial = head.partial || j->rung[i].status == DLB_GAP_FAILED;
    *doc = dlb_gap_summary(&head, &in, j, g->device, err);
    if (*doc)
        return DLB_OK;
    dlb_gap_judgement_free(j);
    return (int)err->status;
}

/* After each block: what there is survives whatever happens to this process. */
static void save(void *ctx)
{
    struct gap *g = ctx;
    struct dlb_gap_judgement j;
    struct dlb_err ignored;
    json_t *doc = NULL;
    if (g->folder.replaces || build(g, true, &j, &doc, &ignored))
        return;
    dlb_result_save(&g->folder, doc);
    json_decref(doc);
    dlb_gap_judgement_free(&j);
}

static int execute(struct gap *g, struct dlb_err *err)
{
    g->watch.plan = &g->plan;
    g->watch.start_ns = dlb_now_ns();
    dlb_os_machine(&g->machine_before);
    g->watch.save = save;
    g->watch.ctx = g;
    struct dlb_runner runner = {.scratch = g->folder.scratch,
                                .cancel = &dlb_interrupted,
                                .event = dlb_watch_event,
                                .ctx = &g->watch};
    int rc = dlb_result_begin(&g->folder, g->environment, err);
    return rc ? rc : dlb_runner_execute(&runner, &g->plan, &g->results, err);
}

/* Says what did not go well, and picks the exit code. */
static int conclude(const struct gap *g, const struct dlb_gap_judgement *j)
{
    uint32_t n_ok = 0, n_failed = 0;
    const struct dlb_gap_judged *first = NULL;
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        n_ok += j->rung[i].status == DLB_GAP_OK;
        n_failed += j->rung[i].status == DLB_GAP_FAILED;
        if (j->rung[i].status == DLB_GAP_FAILED && !first)
            first = &j->rung[i];
    }
    if (first)
        (void)fprintf(stderr, "dlbench: partial: %u of %u rungs failed, the first (%s): %s\n",
                      n_failed, j->n_rungs, first->name, first->reason);
    if (!g->python.found && !g->python.crashed)
        (void)fprintf(stderr, "dlbench: note: the PyTorch rungs are not measured: %s\n",
                      g->python.reason);
    if (g->results.interrupted) {
        dlb_result_say_interrupted(&g->folder);
        return DLB_EXIT_INTERRUPTED;
    }
    return n_ok > 0 ? DLB_EXIT_OK : DLB_EXIT_FAILED;
}

static int report(struct gap *g, int ran, struct dlb_err *err)
{
    struct dlb_gap_judgement j;
    struct dlb_err late;
    json_t *doc = NULL;
    if (ran)
        (void)dlb_print_err(err);
    if (build(g, ran != DLB_OK, &j, &doc, &late))
        return dlb_print_err(&late);
    bool any_ok = false;
    for (uint32_t i = 0; i < j.n_rungs; i++)
        any_ok = any_ok || j.rung[i].status == DLB_GAP_OK;
    enum dlb_result_part part = !any_ok                         ? DLB_RESULT_NOTHING
                                : ran || g->results.interrupted ? DLB_RESULT_PART
                                                                : DLB_RESULT_WHOLE;
    int written = dlb_result_finish(&g->folder, g->environment, doc, part, &late);
    int code = written ? dlb_print_err(&late) : DLB_EXIT_OK;
    if (written == DLB_E_CANCELLED) /* what was there is kept: why is concluded below */
        code = DLB_EXIT_OK;
    if (dlb_result_print(doc, written ? NULL : g->folder.written, g->args->json, &late))
        code = dlb_print_err(&late);
    (void)fflush(stdout);
    int concluded = conclude(g, &j);
    json_decref(doc);
    dlb_gap_judgement_free(&j);
    return ran ? DLB_EXIT_FAILED : code ? code : concluded;
}

static int run(const struct dlb_args *args)
{
    struct gap *g = calloc(1, sizeof(*g));
    struct dlb_err err;
    int code;
    if (!g) {
        (void)dlb_fail(&err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "gap: out of memory");
        return dlb_print_err(&err);
    }
    g->args = args;
    if (prepare(g, &err)) {
        code = dlb_print_err(&err);
    } else {
        int ran = execute(g, &err);
        dlb_progress_end(&g->watch.progress, NULL);
        code = report(g, ran, &err);
    }
    dlb_gap_python_close(&g->python);
    if (g->folder.path[0])
        dlb_result_close(&g->folder);
    dlb_results_free(&g->results);
    dlb_plan_free(&g->plan);
    json_decref(g->environment);
    free(g);
    return code;
}

static const struct dlb_opt_group *const groups[] = {&dlb_gap_group, &dlb_gap_ladder_group,
                                                     &dlb_device_group, NULL};

const struct dlb_verb dlb_verb_gap = {
    .name = "gap",
    .summary = "Show where the time of an in-memory DataLoader goes, and what closes the gap",
    .usage = "dlbench gap [--samples N] [--features F] [--batch-size B] [--epochs E] [--python PY] "
             "[--config FILE] [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--json]",
    .details =
        "Measure why shuffling an array in memory with a DataLoader takes about a hundred times "
        "as long as slicing it in order. The case as published is 7,000,000 x 100 float32 in "
        "batches of 1,048,576. A ladder of rungs leads from pinned copies of slices (floor) over "
        "shuffled gathers to one sample at a time, forked workers, pin threads and PyTorch itself. "
        "All rungs read the same array, each in processes of its own, in turns:\n\n"
#define X(name, text, summary) "  " text ": " summary "\n"
#include "scenarios/gap/rungs/rungs.def"
#undef X
        "\n"
        "A step is the difference to the rung above. Two rungs that differ in one thing show what "
        "that thing costs: transport and transport-pooled the cost of fresh memory, pin-thread and "
        "transport that of the pin thread.\n\n"
        "PyTorch's rungs need an interpreter that can import torch: the first of --python, python3 "
        "on the path, and the system's. Without one they are shown as not measured.\n\n"
        "  dlbench gap --samples 2000000 --batch-size 300000\n\n"
        "If memory is short, samples and batches shrink together, and the result says so. Ratios "
        "compare dlbench's rungs with direct, and PyTorch's with torch-direct. Ctrl-C ends the "
        "ladder. The result then holds the rungs measured so far, marked partial.",
    .flags = DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_JSON,
    .groups = groups,
    .section = "gap",
    .run = run,
};
