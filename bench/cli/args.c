#include "bench/cli/args.h"

#include "core/base/units.h"
#include "scenarios/spec/spec.h"
#include "scenarios/spec/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLAG_CONFIG,
    FLAG_SET,
    FLAG_RESULTS,
    FLAG_RUN_NAME,
    FLAG_FORMAT,
    FLAG_FROM,
    FLAG_OVERWRITE,
    FLAG_DROP_CACHES,
    FLAG_JSON,
    FLAG_WORKLOAD,
    FLAG_DATA,
    FLAG_ACCELERATOR,
    FLAG_BASELINE,
    FLAG_DRY_RUN,
};

/* In this order, wherever they stand on the line: later ones win. */
enum phase { PHASE_WORKLOAD, PHASE_FILES, PHASE_OPTIONS };

const struct dlb_flag dlb_flags[] = {
    [FLAG_CONFIG] = {"config", "FILE", DLB_FLAG_CONFIG,
                     "read options from a TOML file; may be repeated, later files win", NULL},
    [FLAG_SET] = {"set", "KEY=VALUE", DLB_FLAG_CONFIG,
                  "set one option, over what the file says; --KEY VALUE does the same, and "
                  "sweep.KEY=[A, B] sweeps it",
                  NULL},
    [FLAG_RESULTS] = {"results", "DIR", DLB_FLAG_RESULTS,
                      "folder that holds the results (default: results)", NULL},
    [FLAG_RUN_NAME] = {"run-name", "NAME", DLB_FLAG_RESULTS,
                       "folder of this result below it (default: made from verb and time)", NULL},
    [FLAG_FORMAT] = {"format", "FORMAT", DLB_FLAG_TARGET, "format to write", NULL},
    [FLAG_FROM] = {"from", "FORMAT", DLB_FLAG_TARGET,
                   "format of the source, where it cannot be told by looking", NULL},
    [FLAG_OVERWRITE] = {"overwrite", NULL, DLB_FLAG_RESULTS | DLB_FLAG_TARGET,
                        "replace what is there of the same name", NULL},
    [FLAG_DROP_CACHES] = {"drop-caches", NULL, DLB_FLAG_RESULTS,
                          "before each cold repetition, empty the page, directory and inode "
                          "caches of the whole machine; needs root: run.drop_caches",
                          "run.drop_caches"},
    [FLAG_JSON] = {"json", NULL, DLB_FLAG_JSON,
                   "print the JSON document on stdout, and nothing else", NULL},
    [FLAG_WORKLOAD] = {"workload", "NAME", DLB_FLAG_WORKLOAD,
                       "a workload that dlbench brings along, or a TOML file of one's own; below "
                       "what --config says",
                       NULL},
    [FLAG_DATA] = {"path", "FOLDER", DLB_FLAG_WORKLOAD,
                   "folder of the data set, on the storage "
                   "in question: dataset.path",
                   "dataset.path"},
    [FLAG_ACCELERATOR] = {"accelerator", "NAME", DLB_FLAG_STORAGE,
                          "which accelerator's step times are taken: workload.accelerator",
                          "workload.accelerator"},
    [FLAG_BASELINE] = {"baseline", "PROGRAM", DLB_FLAG_STORAGE,
                       "what reads the same in turns, to compare with (fio): storage.baseline",
                       "storage.baseline"},
    [FLAG_DRY_RUN] = {"dry-run", NULL, DLB_FLAG_STORAGE,
                      "measure nothing: say how large the data set must be, and how long writing "
                      "it takes",
                      NULL},
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

/* The dotted key that a flag of the verb's own section stands for: --batch-size is gap.batch_size.
 */
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

static int usage(const struct dlb_verb *verb, struct dlb_err *err, const char *what,
                 const char *which)
{
    return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                    "%s: %s \"%.40s\"; see `dlbench help %s`", verb->name, what, which, verb->name);
}

static int unknown_flag(const struct dlb_verb *verb, const char *arg, struct dlb_err *err)
{
    const char *nearest = NULL;
    size_t best = 3;
    char spelled[64];

    for (const struct dlb_flag *flag = dlb_flags; flag->name; flag++) {
        (void)snprintf(spelled, sizeof spelled, "--%s", flag->name);
        size_t edits = dlb_edit_distance(arg, spelled);
        if ((flag->mask & verb->flags) && edits < best) {
            best = edits;
            nearest = flag->name;
        }
    }
    if (nearest)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%s: unknown flag \"%.40s\"; did you mean \"--%s\"?", verb->name, arg,
                        nearest);
    return usage(verb, err, "unknown flag", arg);
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
    if ((verb->flags & DLB_FLAG_CONFIG) && len > 5 && strcmp(arg + len - 5, ".toml") == 0)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%s: unexpected \"%.60s\"; did you mean --config %.60s?", verb->name, arg,
                        arg);
    return usage(verb, err, "unexpected", arg);
}

static int check_run_name(const char *name, struct dlb_err *err)
{
    if (*name == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return dlb_fail(err, DLB_ERR_CONFIG, "--run-name", DLB_NO_OFFSET,
                        "\"%.60s\" cannot name a folder; --results says where it lies", name);
    return DLB_OK;
}

/* What is not about options: at once. */
static int take_flag(const struct dlb_flag *flag, const char *value, struct dlb_args *out,
                     struct dlb_err *err)
{
    switch (flag - dlb_flags) {
    case FLAG_WORKLOAD:
        return dlb_workload_load(out->cfg, value, err);
    case FLAG_CONFIG:
        out->config_path = value;
        return dlb_config_load(out->cfg, value, err);
    case FLAG_RESULTS:
        out->results_dir = value;
        break;
    case FLAG_RUN_NAME:
        out->run_name = value;
        return check_run_name(value, err);
    case FLAG_FORMAT:
        out->format = value;
        break;
    case FLAG_FROM:
        out->from = value;
        break;
    case FLAG_OVERWRITE:
        out->overwrite = true;
        break;
    case FLAG_JSON:
        out->json = true;
        break;
    case FLAG_DRY_RUN:
        out->dry_run = true;
        break;
    default:
        break;
    }
    return DLB_OK;
}

/* A flag that stands for a key: its value is no text to be parsed further; without one, true. */
static int take_alias(const struct dlb_flag *flag, const char *value, struct dlb_config *cfg,
                      struct dlb_err *err)
{
    char origin[32];
    json_t *said = value ? json_string(value) : json_true();
    int status;

    (void)snprintf(origin, sizeof origin, "--%s", flag->name);
    status = said ? dlb_config_set_json(cfg, flag->key, said, origin, err)
                  : dlb_fail(err, DLB_ERR_CONFIG, origin, DLB_NO_OFFSET, "is no UTF-8 text");
    json_decref(said);
    return status;
}

/* --set KEY=VALUE, --KEY VALUE and the flags that stand for one: after all files. */
static int take_option(const struct dlb_flag *flag, const struct word *word, const char *value,
                       struct dlb_config *cfg, struct dlb_err *err)
{
    char *assignment = NULL;
    int status;

    if (flag && flag->key)
        return take_alias(flag, value, cfg, err);
    if (flag)
        return dlb_config_set(cfg, value, err);
    if (asprintf(&assignment, "%.*s=%s", (int)word->n_name, word->name, value) < 0)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "arguments: out of memory");
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

/* One pass over the arguments, of those that belong to the phase. */
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
            return usage(verb, err, "no value belongs to", argv[i]);
        if (wants_value && !word.value) {
            if (i + 1 == argc)
                return usage(verb, err, "a value is missing after", argv[i]);
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
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%s: a PATH is missing; see `dlbench help %s`", verb->name, verb->name);
    if (status == DLB_OK && (verb->flags & DLB_FLAG_TARGET) && !out->target)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%s: a second PATH, to write to, is missing; see `dlbench help %s`",
                        verb->name, verb->name);
    return status;
}

bool dlb_args_want_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

const struct dlb_verb *dlb_verb_by_name(const char *name, struct dlb_err *err)
{
    const char *nearest = NULL;
    size_t best = 3;

    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++) {
        size_t edits = dlb_edit_distance(name, (*verb)->name);
        if (edits == 0)
            return *verb;
        if (edits < best && !((*verb)->flags & DLB_FLAG_HIDDEN)) {
            best = edits;
            nearest = (*verb)->name;
        }
    }
    if (nearest)
        (void)dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                       "unknown command \"%.40s\"; did you mean \"%s\"?", name, nearest);
    else
        (void)dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                       "unknown command \"%.40s\"; `dlbench --help` lists them", name);
    return NULL;
}
