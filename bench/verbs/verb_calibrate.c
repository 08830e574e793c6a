#include "bench/cli/verb.h"

#include "bench/calibrate/calibrate.h"
#include "bench/cli/own_file.h"
#include "bench/cli/print.h"
#include "bench/cli/progress.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void tick(void *ctx, uint64_t n_steps)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%" PRIu64 " steps", n_steps);
    dlb_progress_update(ctx, (double)NAN, n_steps ? text : "starting Python");
}

static int measure(const struct dlb_args *args, const struct dlb_calibrate_opts *opts,
                   json_t **answer, struct dlb_err *err)
{
    struct dlb_progress progress;
    struct dlb_calibrate how = {opts, &dlb_interrupted, tick, &progress};
    if (!opts->python[0])
        return dlb_fail(err, DLB_ERR_USAGE_MISSING_ARGUMENT, NULL, DLB_NO_OFFSET,
                        "calibrate: --python FILE.py:FUNCTION is missing; see `dlbench help "
                        "calibrate`");
    int rc = args->write ? dlb_own_file_may(args->write, DLB_CALIBRATE_MARK, args->overwrite, err)
                         : DLB_OK;
    if (rc)
        return rc;
    dlb_catch_interrupts();
    dlb_progress_begin(&progress, "calibrate", args->quiet);
    rc = dlb_calibrate_measure(&how, answer, err);
    dlb_progress_end(&progress);
    return rc;
}

static void print_json(const struct dlb_args *args, const json_t *answer)
{
    struct dlb_calibrated step;
    json_t *doc = dlb_json_made(json_deep_copy(answer));
    dlb_calibrated_from(answer, &step);
    (void)json_object_del(doc, "status");
    dlb_json_put(doc, "command", json_string("calibrate"));
    dlb_json_put(doc, "step_ms", json_real(step.step_ms));
    dlb_json_put(doc, "step_dist", json_string(step.step_dist));
    dlb_json_put(doc, "step_stdev_ms", json_real(step.step_stdev_ms));
    dlb_json_put(doc, "step_source", dlb_json_made(json_string(step.step_source)));
    dlb_json_put(doc, "path", dlb_json_text_or_null(args->write));
    dlb_print_json(doc);
    json_decref(doc);
}

static int run(const struct dlb_args *args)
{
    struct dlb_calibrate_opts *opts = dlb_mem_new(sizeof *opts);
    struct dlb_text text = {0};
    json_t *answer = NULL;
    struct dlb_err err;
    dlb_config_fill(args->cfg, &dlb_calibrate_group, opts);
    int rc = measure(args, opts, &answer, &err);
    if (!rc) {
        dlb_calibrate_toml(answer, &text);
        if (args->write)
            rc = dlb_own_file_write(args->write, DLB_CALIBRATE_MARK, args->overwrite, text.data,
                                    text.len_bytes, &err);
    }
    if (!rc && args->json)
        print_json(args, answer);
    else if (!rc)
        dlb_print_out(text.data, text.len_bytes);
    if (!rc && args->write && !args->json)
        dlb_say(stderr, "dlbench: %s: written", args->write);
    dlb_text_free(&text);
    json_decref(answer);
    free(opts);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

static const struct dlb_opt_group *const groups[] = {&dlb_calibrate_group, NULL};

const struct dlb_verb dlb_verb_calibrate = {
    .name = "calibrate",
    .summary = "Measure the training step of your own Python program",
    .usage = "dlbench calibrate --python FILE.py:FUNCTION [--interpreter PY] [--seconds S] "
             "[--timeout-s S] [--write FILE] [--overwrite] [--json]",
    .details =
        "Import FILE.py in a Python interpreter and call FUNCTION(). It returns a function without "
        "arguments that does one training step on data of its own; no torch is needed for it. The "
        "step is repeated and timed, and [device] step_ms, step_dist and step_stdev_ms are printed "
        "as a configuration that --config reads, with step_source, which every result then "
        "names.\n\n"
        "  dlbench calibrate --python train.py:make_step --write step.toml\n"
        "  dlbench sweep --config imagenet.toml --config step.toml\n\n"
        "A step that has used CUDA through torch is timed by CUDA events at the borders of steps, "
        "which are queued as a training loop queues them. Other steps are timed by the wall "
        "clock.\n\n"
        "The rules are fixed. Warm-up: 3 steps and a thirtieth of --seconds. Measured: 30 steps "
        "and a twentieth of --seconds at least, until the standard error of the mean is 1% of "
        "it. After --seconds it ends with 5 steps or more, and the text says how well the mean is "
        "known. step_ms is the mean. Steps whose standard deviation is within 1% of it are "
        "written as constant, others as lognormal.\n\n"
        "FILE.py is imported, not run as a program: keep training behind `if __name__ == "
        "\"__main__\"`. An import or a step that takes longer than --timeout-s is killed.\n\n"
        "--overwrite replaces a file that dlbench calibrate wrote, and no other.\n\n"
        "With --json: command, target, interpreter, device, clock, torch, python, steps, "
        "warmup_steps, median_ms, mean_ms, stdev_ms, error_frac, settled, step_ms, step_dist, "
        "step_stdev_ms, step_source, path (null: not written).",
    .flags = DLB_FLAG_JSON | DLB_FLAG_WRITE | DLB_FLAG_QUIET,
    .groups = groups,
    .section = "calibrate",
    .examples = {"dlbench calibrate --python train.py:make_step --write step.toml",
                 "dlbench sweep --config imagenet.toml --config step.toml"},
    .keys = {"calibrate.python", "calibrate.interpreter", "calibrate.seconds",
             "calibrate.timeout_s"},
    .run = run,
};
