/* dlbench: reads the command line, hands over to a verb, and makes sure that what it printed got
 * out. */
#include "bench/cli/args.h"
#include "bench/cli/help.h"
#include "bench/cli/print.h"
#include "bench/cli/verb.h"

#include <stdio.h>
#include <string.h>

static int run_verb(const struct dlb_verb *verb, int argc, char **argv)
{
    struct dlb_args args = {.cfg = NULL};
    struct dlb_err err;
    int code;

    if (!(verb->flags & DLB_FLAG_HIDDEN) && dlb_args_want_help(argc, argv)) {
        dlb_help_verb(stdout, verb);
        return DLB_EXIT_OK;
    }
    args.cfg = dlb_config_new(dlb_verb_groups(verb));
    if (!args.cfg) {
        (void)dlb_fail(&err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory");
        return dlb_print_err(&err);
    }
    if (dlb_args_parse(verb, argc, argv, &args, &err) == DLB_OK)
        code = verb->run(&args);
    else
        code = dlb_print_err(&err);
    dlb_config_free(args.cfg);
    return code;
}

static int help(int argc, char **argv)
{
    const struct dlb_verb *verb;
    struct dlb_err err;

    if (argc == 0) {
        dlb_help_overview(stdout);
        return DLB_EXIT_OK;
    }
    verb = dlb_verb_by_name(argv[0], &err);
    if (!verb)
        return dlb_print_err(&err);
    dlb_help_verb(stdout, verb);
    return DLB_EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : NULL;
    const struct dlb_verb *verb;
    struct dlb_err err;

    if (!first) {
        dlb_help_overview(stderr);
        return DLB_EXIT_USAGE;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0 ||
        strcmp(first, "version") == 0) {
        dlb_version(stdout);
        return DLB_EXIT_OK;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
        return help(argc - 2, argv + 2);
    verb = dlb_verb_by_name(first, &err);
    if (!verb)
        return dlb_print_err(&err);
    return run_verb(verb, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    struct dlb_err err;
    int code;

    dlb_streams_prepare();
    code = dispatch(argc, argv);
    if (dlb_streams_finish(&err) != DLB_OK) {
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED;
    }
    return code;
}
