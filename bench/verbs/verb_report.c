#include "bench/cli/verb.h"
#include "bench/experiment/result.h"
#include "reports/load.h"

#include <string.h>
#include <sys/stat.h>

static int run(const struct dlb_args *args)
{
    struct dlb_err err;
    json_t *doc = NULL;
    struct stat st;
    int rc = dlb_summary_load(args->path, &doc, &err);
    if (!rc) {
        bool folder = stat(args->path, &st) == 0 && S_ISDIR(st.st_mode);
        dlb_result_print(doc, folder ? args->path : NULL, args->json);
    }
    json_decref(doc);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_report = {
    .name = "report",
    .summary = "Show a result again",
    .usage = "dlbench report PATH [--json]",
    .details =
        "Print the same text as the command that measured the result; with --json the document. "
        "PATH is a result's folder or its summary.json, from this machine or another.\n\n"
        "  dlbench report results/first\n\n"
        "In a pipe or a file tables are 160 columns wide, or as many as COLUMNS in the environment "
        "says (20 to 1000).",
    .flags = DLB_FLAG_PATH | DLB_FLAG_JSON,
    .run = run,
};
