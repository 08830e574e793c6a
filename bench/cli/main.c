/* dlbench: reads the command line, calls a verb, and checks that its output reached stdout.
 *
 * Where a command continues:
 *   bench/verbs/verb_<name>.c          the verb: its help, and run(), which this file calls
 *   bench/experiment/experiment.c      run, sweep, storage, gap: plan, execute, judge, report
 *   scenarios/run/runner.c             executes the plan: each repetition is a process of its own,
 *   bench/verbs/verb_cell.c            `dlbench cell`, which measures in scenarios/cell/cell.c
 *   loaders/pool/work.c                a worker's loop; with 0 workers loaders/pool/ld_inline.c
 *   loaders/worker/worker.c            dlb_worker_fill, which both call, and ld_resident.c for
 *                                      ceilings; its loops are fill_map and fill_stream
 *   loaders/train/consumer.c           the training loop that consumes batches
 *   scenarios/judge/judge.c            collects the times of one cell as evidence, from which
 *   core/measure/verdict.c             dlb_judge decides the verdict, and in it classify the class
 *   scenarios/gap/sc_gap.c             gap: the ladder of in-memory programs
 * Options are rows of tables, one table for each section: scenarios/spec/spec.c lists the tables,
 * and CONTRIBUTING.md says how to add an option.
 */
#include "bench/cli/args.h"
#include "bench/cli/help.h"
#include "bench/cli/keys.h"
#include "bench/cli/page.h"
#include "bench/cli/print.h"
#include "bench/cli/together.h"
#include "bench/cli/verb.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run_verb(const struct dlb_verb *verb, int argc, char **argv)
{
    struct dlb_args args = {.cfg = NULL};
    struct dlb_err err;
    int code;

    if (!(verb->flags & DLB_FLAG_HIDDEN) && dlb_args_want_help(argc, argv)) {
        dlb_page_print(stdout, verb);
        return DLB_EXIT_OK;
    }
    args.cfg = dlb_mem_check(dlb_config_new(dlb_verb_groups(verb)));
    if (dlb_args_parse(verb, argc, argv, &args, &err) == DLB_OK)
        code = verb->run(&args); /* bench/verbs/verb_<name>.c */
    else
        code = dlb_print_err(&err);
    dlb_config_free(args.cfg);
    return code;
}

/* `dlbench help`, `help errors`, `help keys [SECTION]`, `help COMMAND [--full]`. */
static int help(int argc, char **argv)
{
    const struct dlb_verb *verb;
    struct dlb_err err;

    if (argc == 0) {
        dlb_help_overview(stdout);
        return DLB_EXIT_OK;
    }
    if (strcmp(argv[0], "errors") == 0) {
        dlb_help_errors(stdout);
        return DLB_EXIT_OK;
    }
    if (strcmp(argv[0], "keys") == 0)
        return dlb_keys_print(stdout, argc > 1 ? argv[1] : NULL, &err) == DLB_OK
                   ? DLB_EXIT_OK
                   : dlb_print_err(&err);
    verb = dlb_verb_by_name(argv[0], &err);
    if (!verb)
        return dlb_print_err(&err);
    if (argc > 1 && strcmp(argv[1], "--full") == 0)
        dlb_help_verb(stdout, verb);
    else
        dlb_page_print(stdout, verb);
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
    if (!verb && first[0] != '-' && (strchr(first, '/') || access(first, F_OK) == 0))
        return run_verb(dlb_verb_by_name("try", &err), argc - 1, argv + 1); /* `dlbench PATH` */
    if (!verb)
        return dlb_print_err(&err);
    return run_verb(verb, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    struct dlb_err err;
    int code;

    dlb_streams_prepare();
    const struct dlb_verb *verb = argc > 1 ? dlb_verb_by_name(argv[1], &err) : NULL;
    bool all = verb && (verb->flags & DLB_FLAG_RANKS) && !dlb_args_want_help(argc - 2, argv + 2);
    if (dlb_together_begin(all, &code))
        return code;
    code = dispatch(argc, argv);
    dlb_together_end();
    if (code != DLB_EXIT_OK && dlb_args_want_json(argc - 1, argv + 1))
        dlb_print_error_json();
    if (dlb_streams_finish(&err) != DLB_OK) {
        (void)dlb_print_err(&err);
        return DLB_EXIT_FAILED;
    }
    return code;
}
