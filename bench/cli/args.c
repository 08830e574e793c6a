#include "bench/cli/args.h"

#include "bench/cli/installed.h"
#include "core/base/escape.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "scenarios/spec/spec.h"
#include "scenarios/spec/workload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest name of a file, less room for ".partial-1000". */
#define RUN_NAME_MAX_BYTES (NAME_MAX - 16)

enum {
    FLAG_CONFIG,
    FLAG_SET,
    FLAG_RESULTS,
    FLAG_RUN_NAME,
    FLAG_FORMAT,
    FLAG_REPORT_FORMAT,
    FLAG_PROMETHEUS,
    FLAG_FROM,
    FLAG_WRITE,
    FLAG_OVERWRITE,
    FLAG_DROP_CACHES,
    FLAG_JSON,
    FLAG_VERBOSE,
    FLAG_WORKLOAD,
    FLAG_DATA,
    FLAG_ACCELERATOR,
    FLAG_BASELINE,
    FLAG_DRY_RUN,
    FLAG_DRY_PLAN,
    FLAG_EXHAUSTIVE,
};

/* Arguments are applied in this order, whatever their order on the line: later phases win. */
enum phase { PHASE_WORKLOAD, PHASE_FILES, PHASE_OPTIONS };

const struct dlb_flag dlb_flags[] = {
    [FLAG_CONFIG] = {"config", "FILE", DLB_FLAG_CONFIG,
                     "read options from a TOML file, or from the installed configuration of that "
                     "name; may be repeated, later files win",
                     NULL},
    [FLAG_SET] = {"set", "KEY=VALUE", DLB_FLAG_CONFIG,
                  "set one option; wins over the files. --KEY VALUE does the same. "
                  "sweep.KEY=[A, B] makes sweep try both values",
                  NULL},
    [FLAG_RESULTS] = {"results", "DIR", DLB_FLAG_RESULTS,
                      "write results below this folder (default: results)", NULL},
    [FLAG_RUN_NAME] = {"run-name", "NAME", DLB_FLAG_RESULTS,
                       "name this result's folder (default: made from configuration, command and "
                       "time)",
                       NULL},
    [FLAG_FORMAT] = {"format", "FORMAT", DLB_FLAG_TARGET, "write the target in this format", NULL},
    [FLAG_REPORT_FORMAT] = {"format", "FORMAT", DLB_FLAG_BESIDE,
                            "html (a page), md, csv (a row a repetition), json, txt "
                            "(summary.txt) or prometheus, instead of the usual text",
                            NULL},
    [FLAG_PROMETHEUS] = {"prometheus", "FILE", DLB_FLAG_BESIDE,
                         "write gauges to this file, at once, for node_exporter's textfile "
                         "collector",
                         NULL},
    [FLAG_FROM] = {"from", "FORMAT", DLB_FLAG_TARGET,
                   "read the source in this format, if it is not recognised or recognised wrongly",
                   NULL},
    [FLAG_WRITE] = {"write", "FILE", DLB_FLAG_WRITE, "write to this file, which is new", NULL},
    [FLAG_OVERWRITE] = {"overwrite", NULL, DLB_FLAG_RESULTS | DLB_FLAG_TARGET | DLB_FLAG_WRITE,
                        "replace what has the same name, once the new one is complete", NULL},
    [FLAG_DROP_CACHES] = {"drop-caches", NULL, DLB_FLAG_RESULTS,
                          "empty the page, directory and inode caches of the whole machine before "
                          "each cold repetition; needs root. Same as run.drop_caches",
                          "run.drop_caches"},
    [FLAG_JSON] = {"json", NULL, DLB_FLAG_JSON,
                   "print one JSON document on stdout instead of text: the result, or the error",
                   NULL},
    [FLAG_VERBOSE] = {"verbose", NULL, DLB_FLAG_RESULTS | DLB_FLAG_BESIDE,
                      "print all notes in full, before the answer", NULL},
    [FLAG_WORKLOAD] = {"workload", "NAME", DLB_FLAG_WORKLOAD,
                       "start from a built-in workload, or from a TOML file of your own; --config "
                       "files win over it",
                       NULL},
    [FLAG_DATA] = {"path", "FOLDER", DLB_FLAG_WORKLOAD,
                   "folder of the data set, on the storage to be measured. Same as dataset.path",
                   "dataset.path"},
    [FLAG_ACCELERATOR] = {"accelerator", "NAME", DLB_FLAG_STORAGE,
                          "use this accelerator's step times. Same as workload.accelerator",
                          "workload.accelerator"},
    [FLAG_BASELINE] = {"baseline", "PROGRAM", DLB_FLAG_STORAGE,
                       "compare with this program reading the same files (fio). Same as "
                       "storage.baseline",
                       "storage.baseline"},
    [FLAG_DRY_RUN] = {"dry-run", NULL, DLB_FLAG_STORAGE,
                      "measure no training: print how large the data set must be, and how long "
                      "writing it takes",
                      NULL},
    [FLAG_DRY_PLAN] = {"dry-run", NULL, DLB_FLAG_PLAN,
                       "measure and write nothing: print the cells, what is skipped and why, and "
                       "the memory, bytes and time that they take",
                       NULL},
    [FLAG_EXHAUSTIVE] = {"exhaustive", NULL, DLB_FLAG_SWEEP,
                         "measure each cell run.repeats times. Same as sweep.exhaustive",
                         "sweep.exhaustive"},
    {.name = NULL},
};

/* One argument, taken apart. */
struct word {
    const char *name; /* after the dashes; NULL: positional */
    size_t n_name;
    const char *value; /* after "=", or NULL */
};

static struct word take_apart(const char *arg)
{
    struct word word = {.value = NULL};

    if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0')
        return word;
    word.name = arg + 2;
    word.n_name = strcspn(word.name, "=");
    if (word.name[word.n_name] == '=')
        word.value = word.name + word.n_name + 1;
    return word;
}

static const struct dlb_flag *find_flag(const struct dlb_verb *verb, const struct word *word)
{
    for (const struct dlb_flag *flag = dlb_flags; flag->name; flag++)
        if ((flag->mask & verb->flags) && strlen(flag->name) == word->n_name &&
            strncmp(flag->name, word->name, word->n_name) == 0)
            return flag;
    return NULL;
}

const struct dlb_opt_group *const *dlb_verb_groups(const struct dlb_verb *verb)
{
    return verb->groups ? verb->groups : dlb_spec_groups();
}

#define KEY_CAP 96 /* of a dotted key; longer ones are unknown */

/* For a flag of the verb's own section, the dotted key that it stands for: --batch-size is
 * gap.batch_size. */
static bool own_key(const struct dlb_verb *verb, const struct word *word, char key[KEY_CAP])
{
    char spelled[KEY_CAP];

    if (!verb->section || word->n_name >= KEY_CAP)
        return false;
    (void)snprintf(spelled, sizeof spelled, "%.*s", (int)word->n_name, word->name);
    for (char *at = spelled; *at; at++)
        *at = *at == '-' ? '_' : *at;
    for (const struct dlb_opt_group *const *group = dlb_verb_groups(verb); *group; group++)
        for (const struct dlb_opt *opt = (*group)->opts; opt->key; opt++)
            if (strcmp((*group)->section, verb->section) == 0 && strcmp(opt->key, spelled) == 0)
                return snprintf(key, KEY_CAP, "%s.%s", verb->section, opt->key) < KEY_CAP;
    return false;
}

static int usage(const struct dlb_verb *verb, enum dlb_code code, const char *what,
                 const char *which, struct dlb_err *err)
{
    return dlb_fail(err, code, NULL, DLB_NO_OFFSET, "%s: %s \"%.*s\"; see `dlbench help %s`",
                    verb->name, what, DLB_CUT(which, 40), verb->name);
}

static int unknown_flag(const struct dlb_verb *verb, const char *arg, struct dlb_err *err)
{
    const char *nearest = NULL;
    size_t best = 3;
    char spelled[64];

    for (const struct dlb_flag *flag = dlb_flags; flag->name; flag++) {
        (void)snprintf(spelled, sizeof spelled, "--%s", flag->name);
        size_t edits = dlb_edit_distance(arg, spelled, best);
        if ((flag->mask & verb->flags) && edits < best) {
            best = edits;
            nearest = flag->name;
        }
    }
    if (nearest)
        return dlb_fail(err, DLB_ERR_USAGE_UNKNOWN_FLAG, NULL, DLB_NO_OFFSET,
                        "%s: unknown flag \"%.*s\"; did you mean \"--%s\"?", verb->name,
                        DLB_CUT(arg, 40), nearest);
    return usage(verb, DLB_ERR_USAGE_UNKNOWN_FLAG, "unknown flag", arg, err);
}

static int take_positional(const struct dlb_verb *verb, const char *arg, struct dlb_args *out,
                           struct dlb_err *err)
{
    size_t len = strlen(arg);

    if ((verb->flags & DLB_FLAG_PATH) && !out->path && *arg) {
        out->path = arg;
        return DLB_OK;
    }
    if ((verb->flags & DLB_FLAG_TARGET) && !out->target && *arg) {
        out->target = arg;
        return DLB_OK;
    }
    if ((verb->flags & DLB_FLAG_BESIDE) && out->n_beside < DLB_MAX_BESIDE && *arg) {
        out->beside[out->n_beside++] = arg;
        return DLB_OK;
    }
    if ((verb->flags & DLB_FLAG_CONFIG) && len > 5 && strcmp(arg + len - 5, ".toml") == 0)
        return dlb_fail(err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, NULL, DLB_NO_OFFSET,
                        "%s: unexpected \"%.*s\"; did you mean --config %.*s?", verb->name,
                        DLB_CUT(arg, 60), DLB_CUT(arg, 60));
    return usage(verb, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, "unexpected", arg, err);
}

static int check_run_name(const char *name, struct dlb_err *err)
{
    if (*name == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return dlb_fail(err, DLB_ERR_USAGE_RUN_NAME, "--run-name", DLB_NO_OFFSET,
                        "\"%.*s\" is no plain name; --results sets the folder that holds it",
                        DLB_CUT(name, 60));
    if (strlen(name) > RUN_NAME_MAX_BYTES)
        return dlb_fail(err, DLB_ERR_USAGE_RUN_NAME, "--run-name", DLB_NO_OFFSET,
                        "\"%.*s...\" has %zu bytes; a name has %d at most", DLB_CUT(name, 60),
                        strlen(name), RUN_NAME_MAX_BYTES);
    return DLB_OK;
}

/* Flags that stand for no option key. */
static int take_flag(const struct dlb_flag *flag, const char *value, struct dlb_args *out,
                     struct dlb_err *err)
{
    switch (flag - dlb_flags) {
    case FLAG_WORKLOAD:
        return dlb_workload_load(out->cfg, value, err);
    case FLAG_CONFIG:
        out->config_path = value;
        return dlb_installed_load(out->cfg, value, err);
    case FLAG_RESULTS:
        out->results_dir = value;
        break;
    case FLAG_RUN_NAME:
        out->run_name = value;
        return check_run_name(value, err);
    case FLAG_PROMETHEUS:
        out->prometheus = value;
        break;
    case FLAG_FORMAT:
    case FLAG_REPORT_FORMAT:
        out->format = value;
        break;
    case FLAG_FROM:
        out->from = value;
        break;
    case FLAG_WRITE:
        out->write = value;
        break;
    case FLAG_OVERWRITE:
        out->overwrite = true;
        break;
    case FLAG_JSON:
        out->json = true;
        break;
    case FLAG_VERBOSE:
        out->verbose = true;
        break;
    case FLAG_DRY_RUN:
    case FLAG_DRY_PLAN:
        out->dry_run = true;
        break;
    default:
        break;
    }
    return DLB_OK;
}

/* A flag that stands for a key, without a value: true. Its value is taken as it is, not parsed. */
static int take_alias(const struct dlb_flag *flag, const char *value, struct dlb_config *cfg,
                      struct dlb_err *err)
{
    char origin[32];
    json_t *said = value ? json_string(value) : json_true();
    int status;

    (void)snprintf(origin, sizeof origin, "--%s", flag->name);
    if (!said)
        return dlb_fail(err, DLB_ERR_USAGE_NOT_UTF8, origin, DLB_NO_OFFSET, "is not valid UTF-8");
    status = dlb_config_set_json(cfg, flag->key, said, origin, err);
    json_decref(said);
    return status;
}

/* --set KEY=VALUE, --KEY VALUE and the flags that stand for a key. */
static int take_option(const struct dlb_flag *flag, const struct word *word, const char *value,
                       struct dlb_config *cfg, struct dlb_err *err)
{
    size_t n_assignment = word->n_name + strlen(value ? value : "") + sizeof "=";
    char *assignment;
    int status;

    if (flag && flag->key)
        return take_alias(flag, value, cfg, err);
    if (flag)
        return dlb_config_set(cfg, value, err);
    assignment = dlb_mem_array(n_assignment, 1);
    (void)snprintf(assignment, n_assignment, "%.*s=%s", (int)word->n_name, word->name, value);
    status = dlb_config_set(cfg, assignment, err);
    free(assignment);
    if (status == DLB_E_CONFIG)
        (void)snprintf(err->path, sizeof err->path, "--%.*s",
                       (int)(word->n_name < 200 ? word->n_name : 200), word->name);
    return status;
}

static enum phase phase_of(const struct dlb_flag *flag)
{
    if (!flag || flag == &dlb_flags[FLAG_SET] || flag->key)
        return PHASE_OPTIONS;
    return flag == &dlb_flags[FLAG_WORKLOAD] ? PHASE_WORKLOAD : PHASE_FILES;
}

/* One pass over the arguments: applies those that belong to the phase, checks all. */
static int pass(const struct dlb_verb *verb, int argc, char **argv, enum phase phase,
                struct dlb_args *out, struct dlb_err *err)
{
    bool only_positional = false;
    int status = DLB_OK;
    char key[KEY_CAP];

    for (int i = 0; i < argc && status == DLB_OK; i++) {
        struct word word = take_apart(argv[i]);
        if (!only_positional && strcmp(argv[i], "--") == 0) {
            only_positional = true;
            continue;
        }
        if (only_positional || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (phase == PHASE_FILES)
                status = take_positional(verb, argv[i], out, err);
            continue;
        }
        if (!word.name)
            return unknown_flag(verb, argv[i], err);
        const struct dlb_flag *flag = find_flag(verb, &word);
        bool is_key =
            !flag && (verb->flags & DLB_FLAG_CONFIG) && memchr(word.name, '.', word.n_name);
        if (!flag && !is_key && own_key(verb, &word, key)) {
            is_key = true;
            word.name = key;
            word.n_name = strlen(key);
        }
        if (!flag && !is_key)
            return unknown_flag(verb, argv[i], err);
        bool wants_value = is_key || flag->value;
        if (!wants_value && word.value)
            return usage(verb, DLB_ERR_USAGE_FLAG_VALUE, "this flag takes no value:", argv[i], err);
        if (wants_value && !word.value) {
            if (i + 1 == argc)
                return usage(verb, DLB_ERR_USAGE_FLAG_VALUE, "a value is missing after", argv[i],
                             err);
            word.value = argv[++i];
        }
        if (phase_of(flag) != phase)
            continue;
        status = phase == PHASE_OPTIONS ? take_option(flag, &word, word.value, out->cfg, err)
                                        : take_flag(flag, word.value, out, err);
    }
    return status;
}

int dlb_args_parse(const struct dlb_verb *verb, int argc, char **argv, struct dlb_args *out,
                   struct dlb_err *err)
{
    int status;

    out->results_dir = "results";
    out->argc = argc;
    out->argv = argv;
    if (verb->flags & DLB_FLAG_HIDDEN)
        return DLB_OK;
    status = pass(verb, argc, argv, PHASE_WORKLOAD, out, err);
    if (status == DLB_OK)
        status = pass(verb, argc, argv, PHASE_FILES, out, err);
    if (status == DLB_OK)
        status = pass(verb, argc, argv, PHASE_OPTIONS, out, err);
    if (status == DLB_OK && (verb->flags & DLB_FLAG_PATH) && !out->path)
        return dlb_fail(err, DLB_ERR_USAGE_MISSING_ARGUMENT, NULL, DLB_NO_OFFSET,
                        "%s: a PATH is missing; see `dlbench help %s`", verb->name, verb->name);
    if (status == DLB_OK && (verb->flags & DLB_FLAG_TARGET) && !out->target)
        return dlb_fail(err, DLB_ERR_USAGE_MISSING_ARGUMENT, NULL, DLB_NO_OFFSET,
                        "%s: a second PATH, to write to, is missing; see `dlbench help %s`",
                        verb->name, verb->name);
    return status;
}

static bool stands_among(const char *word, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

bool dlb_args_want_help(int argc, char **argv)
{
    return stands_among("--help", argc, argv) || stands_among("-h", argc, argv);
}

bool dlb_args_want_json(int argc, char **argv)
{
    return stands_among("--json", argc, argv);
}

const struct dlb_verb *dlb_verb_by_name(const char *name, struct dlb_err *err)
{
    const char *nearest = NULL;
    size_t best = 3;

    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++) {
        size_t edits = dlb_edit_distance(name, (*verb)->name, best);
        if (edits == 0)
            return *verb;
        if (edits < best && !((*verb)->flags & DLB_FLAG_HIDDEN)) {
            best = edits;
            nearest = (*verb)->name;
        }
    }
    if (nearest)
        (void)dlb_fail(err, DLB_ERR_USAGE_UNKNOWN_COMMAND, NULL, DLB_NO_OFFSET,
                       "unknown command \"%.*s\"; did you mean \"%s\"?", DLB_CUT(name, 40),
                       nearest);
    else
        (void)dlb_fail(err, DLB_ERR_USAGE_UNKNOWN_COMMAND, NULL, DLB_NO_OFFSET,
                       "unknown command \"%.*s\"; `dlbench help` lists them", DLB_CUT(name, 40));
    return NULL;
}
