#include "bench/cli/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct loader {
    int64_t num_workers, batch_size;
    bool shuffle;
};

#define FIELD(name) .key = #name, .offset = offsetof(struct loader, name), .help = "h"
static const struct dlb_opt opts[] = {
    {FIELD(num_workers), .type = DLB_OPT_INT, .max = 64, .def = "2"},
    {FIELD(batch_size), .type = DLB_OPT_INT, .min = 1, .max = 64, .def = "8"},
    {FIELD(shuffle), .type = DLB_OPT_BOOL, .def = "false"},
    DLB_OPT_END};
static const struct dlb_opt_group group = {"loader", "Loader", opts, sizeof(struct loader)};
static const struct dlb_opt_group *const groups[] = {&group, NULL};

static const struct dlb_verb sweep = {.name = "sweep",
                                      .flags = DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_JSON};
static const struct dlb_verb inspect = {.name = "inspect", .flags = DLB_FLAG_PATH | DLB_FLAG_JSON};
static const struct dlb_verb hidden = {.name = "cell", .flags = DLB_FLAG_HIDDEN};

static char file[] = "/tmp/dlb_test_args_XXXXXX";

static int make_file(void **state)
{
    static const char text[] = "loader.num_workers = 16\nloader.batch_size = 32\n";
    int fd = mkstemp(file);

    (void)state;
    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)(sizeof text - 1))
        return -1;
    return close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

/* Parses argv (ends with NULL). The caller frees out->cfg. */
static int parse(const struct dlb_verb *verb, char **argv, struct dlb_args *out,
                 struct dlb_err *err)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    *out = (struct dlb_args){.cfg = dlb_config_new(groups)};
    assert_non_null(out->cfg);
    return dlb_args_parse(verb, argc, argv, out, err);
}

static struct dlb_args parsed(const struct dlb_verb *verb, char **argv)
{
    struct dlb_args args;
    struct dlb_err err;

    if (parse(verb, argv, &args, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
    return args;
}

static struct loader filled(const struct dlb_args *args)
{
    struct loader out;

    dlb_config_fill(args->cfg, &group, &out);
    return out;
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static void nothing_gives_defaults(void **state)
{
    char *none[] = {NULL};
    struct dlb_args args = parsed(&sweep, none);

    (void)state;
    assert_string_equal(args.results_dir, "results");
    assert_null(args.run_name);
    assert_null(args.config_path);
    assert_false(args.overwrite);
    assert_false(args.json);
    assert_int_equal(filled(&args).num_workers, 2);
    dlb_config_free(args.cfg);
}

static void flags_are_taken(void **state)
{
    struct dlb_args args =
        parsed(&sweep, WORDS("--results", "r", "--run-name=n", "--overwrite", "--json"));

    (void)state;
    assert_string_equal(args.results_dir, "r");
    assert_string_equal(args.run_name, "n");
    assert_true(args.overwrite);
    assert_true(args.json);
    dlb_config_free(args.cfg);
}

/* The file counts as said first, wherever it stands. */
static void settings_win_over_the_file(void **state)
{
    struct dlb_args args =
        parsed(&sweep, WORDS("--set", "loader.num_workers=4", "--config", file,
                             "--loader.shuffle=true", "--set=loader.num_workers=5"));

    (void)state;
    assert_int_equal(filled(&args).num_workers, 5);
    assert_int_equal(filled(&args).batch_size, 32);
    assert_true(filled(&args).shuffle);
    assert_string_equal(args.config_path, file);
    dlb_config_free(args.cfg);
}

static void keys_are_flags(void **state)
{
    struct dlb_args args =
        parsed(&sweep, WORDS("--loader.num_workers", "7", "--sweep.loader.batch_size", "[1, 2]"));

    (void)state;
    assert_int_equal(filled(&args).num_workers, 7);
    assert_int_equal(
        json_array_size(json_object_get(dlb_config_axes(args.cfg), "loader.batch_size")), 2);
    dlb_config_free(args.cfg);
}

static void paths_are_positional(void **state)
{
    struct dlb_args args = parsed(&inspect, WORDS("--json", "data"));

    (void)state;
    assert_string_equal(args.path, "data");
    dlb_config_free(args.cfg);
    args = parsed(&inspect, WORDS("--", "--odd-name"));
    assert_string_equal(args.path, "--odd-name");
    dlb_config_free(args.cfg);
}

static void hidden_verbs_get_everything(void **state)
{
    char **words = WORDS("--config", "x", "--nonsense", "-3");
    struct dlb_args args = parsed(&hidden, words);

    (void)state;
    assert_int_equal(args.argc, 4);
    assert_ptr_equal(args.argv, words);
    dlb_config_free(args.cfg);
}

/* The error of a command line that is wrong. */
static struct dlb_err wrong(const struct dlb_verb *verb, char **argv)
{
    struct dlb_args args;
    struct dlb_err err;

    if (parse(verb, argv, &args, &err) == DLB_OK)
        fail_msg("%s was taken", argv[0]);
    assert_int_equal(err.status, DLB_E_CONFIG);
    dlb_config_free(args.cfg);
    return err;
}

/* With this code, and a message that names `part`. */
static void refused(const struct dlb_verb *verb, char **argv, enum dlb_code code, const char *part)
{
    struct dlb_err err = wrong(verb, argv);

    assert_string_equal(dlb_code_name(err.code), dlb_code_name(code));
    if (!strstr(err.what, part))
        fail_msg("wanted \"%s\", got \"%s\"", part, err.what);
}

static void wrong_usage_is_named(void **state)
{
    char *none[] = {NULL};

    (void)state;
    refused(&sweep, WORDS("--confg", "x"), DLB_ERR_USAGE_UNKNOWN_FLAG, "\"--config\"?");
    refused(&sweep, WORDS("--frobnicate"), DLB_ERR_USAGE_UNKNOWN_FLAG, "help sweep");
    refused(&sweep, WORDS("-j"), DLB_ERR_USAGE_UNKNOWN_FLAG, "\"-j\"");
    refused(&inspect, WORDS("--config", file, "a"), DLB_ERR_USAGE_UNKNOWN_FLAG, "\"--config\"");
    refused(&inspect, WORDS("--loader.num_workers", "3", "a"), DLB_ERR_USAGE_UNKNOWN_FLAG,
            "--loader.num_workers");
    refused(&sweep, WORDS("--config"), DLB_ERR_USAGE_FLAG_VALUE, "\"--config\"");
    refused(&sweep, WORDS("--loader.num_workers"), DLB_ERR_USAGE_FLAG_VALUE,
            "--loader.num_workers");
    refused(&sweep, WORDS("--json=yes"), DLB_ERR_USAGE_FLAG_VALUE, "\"--json=yes\"");
    refused(&sweep, WORDS("c.toml"), DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, "--config c.toml?");
    refused(&sweep, WORDS("thing"), DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, "\"thing\"");
    refused(&inspect, WORDS("a", "b"), DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, "\"b\"");
    refused(&sweep, WORDS("--run-name", "a/b"), DLB_ERR_USAGE_RUN_NAME, "\"a/b\"");
    refused(&sweep, WORDS("--run-name", ".."), DLB_ERR_USAGE_RUN_NAME, "\"..\"");
    refused(&inspect, none, DLB_ERR_USAGE_MISSING_ARGUMENT, "PATH");
}

/* The configuration's own errors say which argument they come from. */
static void a_wrong_option_names_its_argument(void **state)
{
    (void)state;
    struct dlb_err err = wrong(&sweep, WORDS("--loader.num_worker", "3"));
    assert_string_equal(err.path, "--loader.num_worker");
    assert_non_null(strstr(err.what, "\"loader.num_workers\"?"));
    err = wrong(&sweep, WORDS("--loader.num_workers=99"));
    assert_string_equal(err.path, "--loader.num_workers");
    err = wrong(&sweep, WORDS("--config", "/nonexistent.toml"));
    assert_string_equal(err.path, "/nonexistent.toml");
}

static void words_are_found(void **state)
{
    (void)state;
    assert_true(dlb_args_want_help(2, WORDS("--json", "--help")));
    assert_true(dlb_args_want_help(1, WORDS("-h")));
    assert_false(dlb_args_want_help(2, WORDS("--", "--help")));
    assert_true(dlb_args_want_json(3, WORDS("run", "--nonsense", "--json")));
    assert_false(dlb_args_want_json(2, WORDS("--", "--json")));
}

static void verbs_are_found(void **state)
{
    struct dlb_err err;

    (void)state;
    assert_string_equal(dlb_verb_by_name("inspect", &err)->name, "inspect");
    assert_null(dlb_verb_by_name("inspekt", &err));
    assert_int_equal(err.code, DLB_ERR_USAGE_UNKNOWN_COMMAND);
    assert_non_null(strstr(err.what, "\"inspect\"?"));
    assert_null(dlb_verb_by_name("frobnicate", &err));
    assert_int_equal(err.status, DLB_E_CONFIG);
    assert_null(dlb_verb_by_name("cel", &err)); /* hidden ones are not offered */
    assert_null(strstr(err.what, "cell"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_gives_defaults),
        cmocka_unit_test(flags_are_taken),
        cmocka_unit_test(settings_win_over_the_file),
        cmocka_unit_test(keys_are_flags),
        cmocka_unit_test(paths_are_positional),
        cmocka_unit_test(hidden_verbs_get_everything),
        cmocka_unit_test(wrong_usage_is_named),
        cmocka_unit_test(a_wrong_option_names_its_argument),
        cmocka_unit_test(words_are_found),
        cmocka_unit_test(verbs_are_found),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
