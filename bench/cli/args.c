#include "bench/cli/args.h"

#include "bench/cli/flags.h"
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

/* Arguments are applied in this order, whatever their order on the line: later phases win. */
enum phase { PHASE_WORKLOAD, PHASE_FILES, PHASE_OPTIONS };

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

/* The first verb of the help that has the flag; NULL: none. */
static const struct dlb_verb *verb_with(const char *arg)
{
    struct word word = take_apart(arg);
    if (!word.name)
        return NULL;
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if (!((*verb)->flags & DLB_FLAG_HIDDEN) && find_flag(*verb, &word))
            return *verb;
    return NULL;
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
    const struct dlb_verb *other = verb_with(arg);
    if (other)
        return dlb_fail(err, DLB_ERR_USAGE_UNKNOWN_FLAG, NULL, DLB_NO_OFFSET,
                        "%s: unknown flag \"%.*s\": it is a flag of `dlbench %s`", verb->name,
                        DLB_CUT(arg, 40), other->name);
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

static int take_rule(const char *value, struct dlb_args *out, struct dlb_err *err)
{
    if (out->n_rules == DLB_RULES_MAX)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, "--fail-on", DLB_NO_OFFSET,
                        "more than %d rules", DLB_RULES_MAX);
    return dlb_rule_parse(value, &out->rules[out->n_rules++], err);
}

static int take_also(int side, const char *value, struct dlb_args *out, struct dlb_err *err)
{
    if (out->n_also[side] == DLB_ALSO_MAX)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, side ? "--also-b" : "--also-a",
                        DLB_NO_OFFSET, "more than %d further results", DLB_ALSO_MAX);
    out->also[side][out->n_also[side]++] = value;
    return DLB_OK;
}

/* Whether a result of the verb has the figures that rules name. */
static int check_rules(const struct dlb_verb *verb, const struct dlb_args *args,
                       struct dlb_err *err)
{
    for (uint32_t i = 0; i < args->n_rules; i++) {
        const struct dlb_rule *rule = &args->rules[i];
        bool change = rule->figure->source == DLB_RULE_OF_CHANGE;
        bool storage = rule->figure->source == DLB_RULE_OF_STORAGE;
        if ((change && !(verb->flags & DLB_FLAG_COMPARE)) ||
            (storage && (args->measures || !(verb->flags & (DLB_FLAG_STORAGE | DLB_FLAG_PATH)))))
            return dlb_fail(err, DLB_ERR_RULE_FIGURE, "--fail-on", DLB_NO_OFFSET,
                            "\"%s\": a result of %s has no \"%s\"; %s has", rule->text, verb->name,
                            rule->figure->name, change ? "compare" : "storage");
    }
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
        out->results_named = true;
        break;
    case FLAG_RUN_NAME:
        out->run_name = value;
        return check_run_name(value, err);
    case FLAG_PROMETHEUS:
        out->prometheus = value;
        break;
    case FLAG_RESUME:
        out->resume = value;
        break;
    case FLAG_FORMAT:
    case FLAG_REPORT_FORMAT:
    case FLAG_COMPARE_FORMAT:
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
    case FLAG_QUIET:
        out->quiet = true;
        break;
    case FLAG_FAIL_ON:
        return take_rule(value, out, err);
    case FLAG_STRICT:
        out->strict = true;
        break;
    case FLAG_JUNIT:
        out->junit = value;
        break;
    case FLAG_TRACEML:
        out->traceml = value;
        break;
    case FLAG_TRACE:
        out->trace = value;
        break;
    case FLAG_ALSO_A:
    case FLAG_ALSO_B:
        return take_also(flag == &dlb_flags[FLAG_ALSO_B], value, out, err);
    case FLAG_SMALLEST:
        out->smallest = value;
        break;
    case FLAG_BETWEEN:
        out->between = value;
        break;
    case FLAG_RUN:
        out->measures = true;
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
    if (status == DLB_OK && out->resume &&
        (out->results_named || out->run_name || out->overwrite || out->dry_run || out->trace))
        return dlb_fail(err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, "--resume", DLB_NO_OFFSET,
                        "%s: --resume names the folder of a run that has begun: leave --results, "
                        "--run-name, --overwrite, --dry-run and --trace out",
                        verb->name);
    if (status == DLB_OK)
        status = check_rules(verb, out, err);
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
