#include "bench/cli/verb.h"
#include "bench/experiment/result.h"
#include "bench/experiment/rules.h"
#include "reports/load.h"
#include "reports/watch.h"

#include <string.h>
#include <sys/stat.h>

/* *code: what rules come to. */
static int print_one(const struct dlb_args *args, int *code, struct dlb_err *err)
{
    json_t *doc = NULL;
    struct stat st;
    int rc = dlb_rules_check(args, err);
    rc = rc ? rc : dlb_summary_load(args->path, &doc, err);
    rc = rc ? rc : dlb_rules_put(args, doc, NULL, err);
    if (!rc) {
        bool folder = stat(args->path, &st) == 0 && S_ISDIR(st.st_mode);
        dlb_result_print(doc, folder ? args->path : NULL, args, NULL);
        *code = dlb_rules_conclude(args, doc, DLB_EXIT_OK);
    }
    json_decref(doc);
    return rc;
}

static int print_pair(const char *const paths[2], bool json, struct dlb_err *err)
{
    json_t *docs[2] = {NULL};
    int rc = DLB_OK;
    for (int i = 0; i < 2 && !rc; i++) {
        rc = dlb_summary_load(paths[i], &docs[i], err);
        if (!rc && !dlb_watch_is(docs[i]))
            rc = dlb_fail(err, DLB_ERR_REPORT_NOT_A_PAIR, paths[i], DLB_NO_OFFSET,
                          "is not a result of dlbench.watch, and only those are shown beside each "
                          "other: report it alone");
    }
    if (!rc)
        dlb_result_print_pair((const json_t *const[2]){docs[0], docs[1]}, json);
    json_decref(docs[0]);
    json_decref(docs[1]);
    return rc;
}

static int run(const struct dlb_args *args)
{
    struct dlb_err err;
    int code = DLB_EXIT_OK;
    int rc = args->target
                 ? print_pair((const char *const[2]){args->path, args->target}, args->json, &err)
                 : print_one(args, &code, &err);
    return rc ? dlb_print_err(&err) : code;
}

const struct dlb_verb dlb_verb_report = {
    .name = "report",
    .summary = "Show a result again",
    .usage =
        "dlbench report PATH [PATH] [--fail-on RULE ...] [--strict] [--junit FILE] [--verbose] "
        "[--json]",
    .details =
        "Print the same text as the command that measured the result; with --json the document. "
        "PATH is a result's folder or its summary.json, from this machine or another. With "
        "--verbose all notes are printed in full.\n\n"
        "  dlbench report results/first\n"
        "  dlbench report results/live results/replay\n\n"
        "Two results of a watched training loop (python/dlbench.py) are shown beside each other: "
        "of a live loop and its replay, what data that are always ready would gain. With --json "
        "an array of both.\n\n"
        "In a pipe or a file tables are 160 columns wide, or as many as COLUMNS in the environment "
        "says (20 to 1000).",
    .flags = DLB_FLAG_PATH | DLB_FLAG_BESIDE | DLB_FLAG_JSON | DLB_FLAG_RULES,
    .examples = {"dlbench report results/first", "dlbench report results/live results/replay",
                 "dlbench report results/first --fail-on 'idle>10%' --junit out.xml"},
    .run = run,
};
