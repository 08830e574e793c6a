/* `dlbench PATH`: inspect, the plan, and a sweep within ten minutes. It is a sweep with the
 * settings of bench/verbs/propose.c, where the user has not set them. */
#include "bench/cli/args.h"
#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/verbs/inspect_text.h"
#include "bench/verbs/propose.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "loaders/loader.h"
#include "scenarios/spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of `dlbench sweep`; those of the proposal are owned. */
struct words {
    char **argv;
    int argc, n_owned;
};

static char *assignment(const char *key, const json_t *value)
{
    char *text = json_is_string(value)
                     ? NULL
                     : dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    const char *shown = text ? text : json_string_value(value);
    size_t n = strlen(key) + strlen(shown) + 2;
    char *word = dlb_mem_array(n, 1);

    (void)snprintf(word, n, "%s=%s", key, shown);
    free(text);
    return word;
}

static bool is_set(const struct dlb_config *cfg, const char *key)
{
    char list[160];
    const char *bare = strncmp(key, "sweep.loader.", 13) == 0 ? key + strlen("sweep.") : key;

    (void)snprintf(list, sizeof list, "sweep.%s", bare);
    return dlb_config_has(cfg, key) || dlb_config_has(cfg, bare) || dlb_config_has(cfg, list);
}

/* Step and number of batches are proposed for the batch of the user. */
static uint64_t batch_of(const struct dlb_config *cfg, const struct dlb_inspected *in)
{
    struct dlb_loader_opts loader;

    dlb_config_fill(cfg, &dlb_loader_group, &loader);
    return dlb_config_has(cfg, "loader.batch_size") ? (uint64_t)loader.batch_size
                                                    : dlb_propose_batch(in);
}

/* Adds the proposal to what the user set, in a file or on the line, and drops from it what the user
 * set otherwise. What lies at PATH is what inspect says. */
static int take(struct dlb_config *cfg, json_t *flat, struct dlb_err *err)
{
    static const char *const found[] = {"dataset.format", "dataset.codec", "dataset.path"};
    const char *key;
    json_t *value;
    void *next;
    int rc = DLB_OK;

    if (is_set(cfg, "device.step_ms")) /* another's source is not proposed for it */
        (void)json_object_del(flat, "device.step_source");
    json_object_foreach_safe(flat, next, key, value) {
        bool taken = !is_set(cfg, key);
        for (size_t i = 0; i < sizeof found / sizeof *found; i++)
            taken = taken || strcmp(key, found[i]) == 0;
        if (!taken)
            (void)json_object_del(flat, key);
        else if (rc == DLB_OK)
            rc = dlb_config_set_json(cfg, key, value, "dlbench PATH", err);
    }
    return rc;
}

/* For the result, which offers the command again. */
static void make_words(const struct dlb_args *args, json_t *flat, struct words *out)
{
    const char *key;
    json_t *value;

    out->argv =
        dlb_mem_array(2 * json_object_size(flat) + (size_t)args->argc + 1, sizeof *out->argv);
    json_object_foreach(flat, key, value) {
        out->argv[out->argc++] = "--set";
        out->argv[out->argc++] = assignment(key, value);
    }
    out->n_owned = out->argc;
    for (int i = 0; i < args->argc; i++)
        if (args->argv[i] != args->path && strcmp(args->argv[i], "--") != 0)
            out->argv[out->argc++] = args->argv[i];
}

static void free_words(struct words *words)
{
    for (int i = 1; i < words->n_owned; i += 2)
        free(words->argv[i]);
    free(words->argv);
}

static void say_what_follows(const struct dlb_config *cfg)
{
    struct dlb_sweep_opts sweep;
    char limit[60] = "has no limit of time";
    char text[400];

    dlb_config_fill(cfg, &dlb_sweep_group, &sweep);
    if (!sweep.exhaustive && sweep.max_minutes > 0)
        (void)snprintf(limit, sizeof limit, "measures for %.4g minutes at most", sweep.max_minutes);
    (void)snprintf(text, sizeof text,
                   "A sweep follows, which %s. Ctrl-C ends it earlier and keeps what was measured. "
                   "To change its settings: `dlbench init PATH --write my.toml`, then `dlbench "
                   "sweep --config my.toml`.",
                   limit);
    (void)putchar('\n');
    dlb_print_folded(stdout, text, 0, 0, dlb_print_width(stdout));
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* Shows the plan, unless JSON is asked for, and measures, unless only the plan is. */
static int sweep(const struct dlb_args *args, struct dlb_args *as_sweep)
{
    struct dlb_err ignored;
    const struct dlb_verb *verb = dlb_verb_by_name("sweep", &ignored);
    int code = DLB_EXIT_OK;

    if (!args->json || args->dry_run) {
        as_sweep->dry_run = true;
        code = verb->run(as_sweep);
        (void)fflush(stdout);
    }
    if (code != DLB_EXIT_OK || args->dry_run)
        return code;
    if (atomic_load(&dlb_interrupted))
        return DLB_EXIT_INTERRUPTED;
    if (!args->json)
        (void)putchar('\n');
    as_sweep->dry_run = false;
    return verb->run(as_sweep);
}

static int run(const struct dlb_args *args)
{
    struct dlb_inspected in;
    struct dlb_args as_sweep = *args;
    struct words words = {.argv = NULL};
    struct dlb_err err;

    if (dlb_inspect(args->path, args->cfg, &in, &err) != DLB_OK ||
        dlb_propose_check(args->path, &in, &err) != DLB_OK) {
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED;
    }
    json_t *flat = dlb_propose(args->path, &in, batch_of(args->cfg, &in));
    int code = take(args->cfg, flat, &err) == DLB_OK ? DLB_EXIT_OK : dlb_print_err(&err);
    if (code == DLB_EXIT_OK) {
        if (!args->json) {
            dlb_inspect_print(args->path, &in);
            dlb_inspect_print_kinds(args->path, &in);
        }
        if (!args->json && !args->dry_run)
            say_what_follows(args->cfg);
        make_words(args, flat, &words);
        as_sweep.argc = words.argc;
        as_sweep.argv = words.argv;
        code = sweep(args, &as_sweep);
    }
    free_words(&words);
    json_decref(flat);
    return code;
}

const struct dlb_verb dlb_verb_try = {
    .name = "try",
    .summary = "Inspect a data set, show the plan, and sweep within ten minutes",
    .usage = "dlbench try PATH [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--dry-run] [--json]",
    .details =
        "`dlbench PATH` is the same, unless PATH is also the name of a command; then write ./PATH. "
        "It does as `dlbench inspect PATH`, shows the plan as `dlbench sweep --dry-run`, and "
        "sweeps "
        "loader.num_workers and loader.prefetch_factor with the settings that `dlbench init PATH` "
        "prints. Any setting can be replaced with --set, and dataset.format and dataset.codec "
        "choose "
        "among kinds of data. Data that memory cannot hold are measured "
        "with run.cache = \"cold\". --dry-run ends before the sweep.\n\n"
        "  dlbench /data/imagenet/train\n"
        "  dlbench try train --loader.batch_size 64 --device.step_ms 50",
    .flags = DLB_FLAG_PATH | DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_JSON | DLB_FLAG_PLAN |
             DLB_FLAG_SWEEP | DLB_FLAG_QUIET,
    .examples = {"dlbench /data/imagenet/train",
                 "dlbench try train --loader.batch_size 64 --device.step_ms 50",
                 "dlbench try train --dry-run"},
    .keys = {"loader.batch_size", "device.step_ms", "loader.shuffle", "loader.kind",
             "transform.pixels", "dataset.codec", "dataset.on_error", "run.max_batches",
             "run.cache", "sweep.max_minutes"},
    .run = run,
};
