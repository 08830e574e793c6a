/* `dlbench PATH`: inspect, the plan, and a sweep within ten minutes. It is a command line of sweep,
 * with the settings of bench/verbs/propose.c before the user's own. */
#include "bench/cli/args.h"
#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/verbs/inspect_text.h"
#include "bench/verbs/propose.h"
#include "core/base/json.h"
#include "core/base/mem.h"

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
    char *text = json_is_string(value) ? NULL : dlb_json_dumped(value, JSON_ENCODE_ANY);
    const char *shown = text ? text : json_string_value(value);
    size_t n = strlen(key) + strlen(shown) + 2;
    char *word = dlb_mem_array(n, 1);

    (void)snprintf(word, n, "%s=%s", key, shown);
    free(text);
    return word;
}

/* What the user set, in a file or on the line, is kept; what lies at PATH is what inspect says. */
static void leave_out_set(const struct dlb_config *cfg, json_t *flat)
{
    static const char *const found[] = {"dataset.format", "dataset.codec", "dataset.path"};
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(flat, next, key, value) {
        const char *bare = strncmp(key, "sweep.loader.", 13) == 0 ? key + strlen("sweep.") : key;
        bool kept = !dlb_config_has(cfg, key) && !dlb_config_has(cfg, bare);
        for (size_t i = 0; i < sizeof found / sizeof *found; i++)
            kept = kept || strcmp(key, found[i]) == 0;
        if (!kept)
            (void)json_object_del(flat, key);
    }
}

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

static const struct dlb_verb *sweep_verb(void)
{
    struct dlb_err ignored;
    return dlb_verb_by_name("sweep", &ignored);
}

static void say_what_follows(void)
{
    (void)putchar('\n');
    dlb_print_folded(
        stdout,
        "A sweep of workers and prefetch_factor follows, which takes ten minutes at most. Ctrl-C "
        "ends it earlier and keeps what was measured. To change its settings: `dlbench init PATH "
        "--write my.toml`, then `dlbench sweep --config my.toml`.",
        0, 0, dlb_print_width(stdout));
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* Shows the plan, unless JSON is asked for, and measures, unless only the plan is. */
static int sweep(const struct dlb_args *args, struct dlb_args *as_sweep)
{
    const struct dlb_verb *verb = sweep_verb();
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
    struct dlb_args as_sweep = {.cfg = NULL};
    struct words words = {.argv = NULL};
    struct dlb_err err;
    int code;

    if (dlb_inspect(args->path, args->cfg, &in, &err) != DLB_OK ||
        dlb_propose_check(args->path, &in, &err) != DLB_OK) {
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED;
    }
    if (!args->json) {
        dlb_inspect_print(args->path, &in);
        say_what_follows();
    }
    json_t *flat = dlb_propose(args->path, &in);
    leave_out_set(args->cfg, flat);
    make_words(args, flat, &words);
    as_sweep.cfg = dlb_mem_check(dlb_config_new(dlb_verb_groups(sweep_verb())));
    if (dlb_args_parse(sweep_verb(), words.argc, words.argv, &as_sweep, &err) == DLB_OK)
        code = sweep(args, &as_sweep);
    else
        code = dlb_print_err(&err);
    dlb_config_free(as_sweep.cfg);
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
        "prints. Any setting can be replaced with --set. Data that memory cannot hold are measured "
        "with run.cache = \"cold\". --dry-run ends before the sweep.\n\n"
        "  dlbench /data/imagenet/train\n"
        "  dlbench try train --loader.batch_size 64 --device.step_ms 50",
    .flags = DLB_FLAG_PATH | DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_JSON | DLB_FLAG_PLAN |
             DLB_FLAG_SWEEP,
    .examples = {"dlbench /data/imagenet/train",
                 "dlbench try train --loader.batch_size 64 --device.step_ms 50",
                 "dlbench try train --dry-run"},
    .keys = {"loader.batch_size", "device.step_ms", "loader.shuffle", "loader.kind",
             "transform.pixels", "dataset.codec", "dataset.on_error", "run.max_batches",
             "run.cache", "sweep.max_minutes"},
    .run = run,
};
