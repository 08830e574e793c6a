#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/experiment/result.h"
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
        dlb_result_print(results->doc[0], folder_of(results), args, NULL);
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

static int report(const struct dlb_args *args, struct loaded *results, struct dlb_err *err)
{
    const char *format = args->json ? "json" : args->format;
    const struct dlb_report *chosen = format ? dlb_report_by_format(format) : NULL;
    if (format && !chosen)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, "--format", DLB_NO_OFFSET,
                        "\"%.*s\" is none of: html, md, csv, json, txt, prometheus",
                        DLB_CUT(format, 40));
    int rc = load(args, chosen && chosen->older && !args->prometheus, results, err);
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
    for (uint32_t i = 0; i < results.n; i++)
        json_decref(results.doc[i]);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_report = {
    .name = "report",
    .summary = "Show results again: as text, a page with charts, tables or gauges",
    .usage = "dlbench report RESULT... [--format FORMAT] [--prometheus FILE]",
    .details =
        "RESULT is a result's folder or its summary.json, from this machine or another. Several "
        "are shown beside each other by --format html and md, and two of dlbench.watch as text. "
        "csv also reads results of earlier versions.\n\n"
        "  dlbench report results/a results/b --format html > beside.html\n"
        "  dlbench report results/first --format csv > first.csv\n\n"
        "In a pipe tables are 160 columns wide, or as many as COLUMNS says (20 to 1000).",
    .flags = DLB_FLAG_PATH | DLB_FLAG_BESIDE | DLB_FLAG_JSON,
    .run = run,
};
