#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/experiment/result.h"
#include "bench/experiment/rules.h"
#include "core/base/escape.h"
#include "core/base/io.h"
#include "reports/load.h"
#include "reports/report.h"
#include "reports/watch.h"

#include <sys/stat.h>

struct loaded {
    const char *path[1 + DLB_MAX_BESIDE];
    json_t *doc[1 + DLB_MAX_BESIDE];
    uint32_t n;
};

static int load(const struct dlb_args *args, bool older, struct loaded *out, struct dlb_err *err)
{
    int rc = DLB_OK;
    out->path[0] = args->path;
    for (uint32_t i = 0; i < args->n_beside; i++)
        out->path[1 + i] = args->beside[i];
    for (; out->n < 1 + args->n_beside && !rc; out->n++)
        rc = older ? dlb_summary_load_older(out->path[out->n], &out->doc[out->n], err)
                   : dlb_summary_load(out->path[out->n], &out->doc[out->n], err);
    return rc;
}

static const char *folder_of(const struct loaded *results)
{
    struct stat st;
    bool is = results->n == 1 && stat(results->path[0], &st) == 0 && S_ISDIR(st.st_mode);
    return is ? results->path[0] : NULL;
}

/* All results by one report. */
static int render(const struct dlb_report *report, const struct loaded *results,
                  struct dlb_text *out, struct dlb_err *err)
{
    struct dlb_report_opts opts = {.folder = folder_of(results)};
    if (results->n > 1 && !report->render_all)
        return dlb_fail(err, DLB_ERR_REPORT_NOT_A_PAIR, results->path[1], DLB_NO_OFFSET,
                        "--format %s shows one result: give one, or --format html or md",
                        report->format);
    if (results->n > 1)
        report->render_all((const json_t *const *)results->doc, results->n, &opts, out);
    else
        report->render(results->doc[0], &opts, out);
    return DLB_OK;
}

/* As the command that measured it, or two results of dlbench.watch beside each other. */
static int print_usual(const struct dlb_args *args, const struct loaded *results,
                       struct dlb_err *err)
{
    for (uint32_t i = 0; i < results->n && results->n > 1; i++)
        if (results->n > 2 || !dlb_watch_is(results->doc[i]))
            return dlb_fail(err, DLB_ERR_REPORT_NOT_A_PAIR, results->path[i], DLB_NO_OFFSET,
                            "text shows one result, or two of dlbench.watch: --format html and md "
                            "show any number beside each other");
    if (results->n > 1)
        dlb_result_print_pair((const json_t *const[2]){results->doc[0], results->doc[1]});
    else
        dlb_result_print(results->doc[0], folder_of(results), args);
    return DLB_OK;
}

static int print_as(const struct dlb_report *report, const struct loaded *results,
                    struct dlb_err *err)
{
    struct dlb_text text = {0};
    int rc = render(report, results, &text, err);
    if (!rc)
        dlb_print_out(text.data, text.len_bytes);
    dlb_text_free(&text);
    return rc;
}

static int write_prometheus(const char *path, const struct loaded *results, struct dlb_err *err)
{
    struct dlb_text text = {0};
    int rc = render(dlb_report_by_format("prometheus"), results, &text, err);
    if (!rc)
        rc = dlb_write_file_atomic(path, text.data, text.len_bytes, err);
    dlb_text_free(&text);
    return rc;
}

static int check_rules(const struct dlb_args *args, struct dlb_err *err)
{
    const char *flag = args->n_rules > 0 ? "--fail-on"
                       : args->strict    ? "--strict"
                       : args->junit     ? "--junit"
                                         : NULL;
    if (flag && args->n_beside > 0)
        return dlb_fail(err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, flag, DLB_NO_OFFSET,
                        "report: rules judge one result; `dlbench compare` judges a change");
    return dlb_rules_check(args, err);
}

static int report(const struct dlb_args *args, struct loaded *results, struct dlb_err *err)
{
    const char *format = args->json ? "json" : args->format;
    const struct dlb_report *chosen = format ? dlb_report_by_format(format) : NULL;
    if (format && !chosen)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, "--format", DLB_NO_OFFSET,
                        "\"%.*s\" is none of: html, md, csv, json, txt, prometheus",
                        DLB_CUT(format, 40));
    bool older = chosen && chosen->older && !args->prometheus && args->n_rules == 0;
    int rc = check_rules(args, err);
    rc = rc ? rc : load(args, older, results, err);
    rc = rc ? rc : dlb_rules_put(args, results->doc[0], NULL, err);
    if (!rc && args->prometheus)
        rc = write_prometheus(args->prometheus, results, err);
    if (!rc && chosen)
        rc = print_as(chosen, results, err);
    else if (!rc && !args->prometheus)
        rc = print_usual(args, results, err);
    return rc;
}

static int run(const struct dlb_args *args)
{
    struct dlb_err err;
    struct loaded results = {.n = 0};
    int rc = report(args, &results, &err);
    int code = rc ? dlb_rules_refuse(args, "report", &err)
                  : dlb_rules_conclude(args, results.doc[0], DLB_EXIT_OK);
    for (uint32_t i = 0; i < results.n; i++)
        json_decref(results.doc[i]);
    return code;
}

const struct dlb_verb dlb_verb_report = {
    .name = "report",
    .summary = "Show results again, as text, a page, tables or figures for monitoring",
    .usage = "dlbench report RESULT... [--format FORMAT] [--prometheus FILE] [--fail-on RULE ...] "
             "[--strict] [--junit FILE] [--verbose] [--json]",
    .details =
        "Print the same text as the command that measured the result. RESULT is a result's folder "
        "or its summary.json, from this machine or another. With --verbose all notes are printed "
        "in full.\n\n"
        "  dlbench report results/first\n"
        "  dlbench report results/a results/b --format html > beside.html\n"
        "  dlbench report results/first --format csv > first.csv\n\n"
        "--format html is a page with charts in one file, as report.html in the result's folder; "
        "of several results it compares them. md is Markdown for an issue or a chat. csv has a row "
        "for each repetition; it also reads results of earlier versions. json is the document, or "
        "an array of several; --json is the same. txt is summary.txt. prometheus is what "
        "--prometheus writes.\n\n"
        "Two results of a watched training loop (python/dlbench.py) are shown beside each other as "
        "text, too: of a live loop and its replay, what data that are always ready would gain.\n\n"
        "In a pipe or a file tables are 160 columns wide, or as many as COLUMNS in the environment "
        "says (20 to 1000).",
    .flags = DLB_FLAG_PATH | DLB_FLAG_BESIDE | DLB_FLAG_JSON | DLB_FLAG_REPORT | DLB_FLAG_RULES,
    .examples = {"dlbench report results/first",
                 "dlbench report results/a results/b --format html > beside.html",
                 "dlbench report results/first --format csv > first.csv"},
    .run = run,
};
