/* `dlbench compare`: two results beside each other. What they say of each other is made by
 * scenarios/compare/compare.c and shown by reports/compare.c. */
#include "bench/cli/installed.h"
#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/experiment/compared.h"
#include "bench/experiment/experiment.h"
#include "bench/experiment/result.h"
#include "bench/experiment/rules.h"
#include "core/base/escape.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/compare.h"
#include "reports/load.h"
#include "reports/report.h"
#include "reports/watch.h"
#include "scenarios/compare/compare.h"
#include "scenarios/compare/traceml.h"
#include "scenarios/spec/own_code.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One side, loaded. */
struct side {
    char *path; /* without #cell; owned */
    json_t *docs[1 + DLB_ALSO_MAX];
    uint32_t n_docs;
    int64_t cell;
};

/* "RESULT#3" is a cell, unless a file has that name. */
static void split(const char *name, struct side *out)
{
    out->path = dlb_mem_text(name);
    out->cell = -1;
    char *hash = strrchr(out->path, '#');
    size_t n = hash ? strspn(hash + 1, "0123456789") : 0;
    if (n == 0 || n > 6 || hash[1 + n] != '\0' || access(name, F_OK) == 0)
        return;
    *hash = '\0';
    out->cell = strtol(hash + 1, NULL, 10);
}

/* A file of TraceML's; *out stays NULL where it is none. New reference. */
static int load_traceml(const char *path, json_t **out, struct dlb_err *err)
{
    struct dlb_err ignored; /* dlb_summary_load meets the same, and says it */
    char *text = NULL;
    size_t n_bytes = 0;
    if (dlb_read_file(path, DLB_SUMMARY_MAX_BYTES, &text, &n_bytes, &ignored))
        return DLB_OK;
    json_t *doc = json_loadb(text, n_bytes, 0, NULL);
    free(text);
    bool is = dlb_traceml_is(doc);
    int rc = is ? dlb_traceml_check(doc, path, err) : DLB_OK;
    if (is && !rc)
        *out = json_incref(doc);
    json_decref(doc);
    return rc;
}

static int load(const char *path, struct side *side, struct dlb_err *err)
{
    json_t **doc = &side->docs[side->n_docs];
    int rc = load_traceml(path, doc, err);
    if (!rc && !*doc)
        rc = dlb_summary_load(path, doc, err);
    if (rc)
        return rc;
    side->n_docs++;
    if (dlb_watch_is(*doc))
        return dlb_fail(err, DLB_ERR_COMPARE_KIND, path, DLB_NO_OFFSET,
                        "is of dlbench.watch, which has no repetitions: `dlbench report A B` shows "
                        "two of them beside each other");
    return DLB_OK;
}

static int load_side(const struct dlb_args *args, int number, struct side *out, struct dlb_err *err)
{
    split(number ? args->beside[0] : args->path, out);
    int rc = load(out->path, out, err);
    for (uint32_t i = 0; i < args->n_also[number] && !rc; i++)
        rc = load(args->also[number][i], out, err);
    return rc;
}

static void free_side(struct side *side)
{
    for (uint32_t i = 0; i < side->n_docs; i++)
        json_decref(side->docs[i]);
    free(side->path);
}

static struct dlb_compared_side side_of(const char *name, const struct side *side)
{
    return (struct dlb_compared_side){name, (const json_t *const *)side->docs, side->n_docs,
                                      side->cell};
}

/* Makes the document and what rules come to. New reference. */
static int compare(const struct dlb_args *args, struct side sides[2], json_t **out,
                   struct dlb_err *err)
{
    struct dlb_compare_request request;
    int rc = dlb_compared_shares(args, &request, err);
    rc = rc ? rc : load_side(args, 0, &sides[0], err);
    rc = rc ? rc : load_side(args, 1, &sides[1], err);
    if (rc)
        return rc;
    request.a = side_of(args->path, &sides[0]);
    request.b = side_of(args->beside[0], &sides[1]);
    rc = dlb_compare_documents(&request, out, err);
    return rc ? rc : dlb_rules_put(args, *out, sides[1].docs[0], err);
}

enum format { USUAL, HTML, JSON, MD, TXT, N_FORMATS };
static const char *const format_names[N_FORMATS] = {"", "html", "json", "md", "txt"};

static int format_of(const struct dlb_args *args, enum format *out, struct dlb_err *err)
{
    *out = args->json ? JSON : USUAL;
    for (int i = HTML; args->format && !args->json && i < N_FORMATS; i++)
        if (strcmp(args->format, format_names[i]) == 0)
            *out = (enum format)i;
    if (args->format && *out == USUAL)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, "--format", DLB_NO_OFFSET,
                        "\"%.*s\" is none of: html, json, md, txt", DLB_CUT(args->format, 40));
    return DLB_OK;
}

/* The comparison, and below it each result once. TraceML's documents are none. */
static void print_page(const json_t *doc, const struct side sides[2])
{
    const json_t *docs[1 + 2 * (1 + DLB_ALSO_MAX)] = {doc};
    const struct dlb_report_opts opts = {0};
    struct dlb_text text = {0};
    uint32_t n = 1;
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < sides[i].n_docs; k++) {
            bool same = i == 1 && k == 0 && strcmp(sides[0].path, sides[1].path) == 0;
            if (!same && !dlb_traceml_is(sides[i].docs[k]))
                docs[n++] = sides[i].docs[k];
        }
    dlb_report_by_format("html")->render_all(docs, n, &opts, &text);
    dlb_print_out(text.data, text.len_bytes);
    dlb_text_free(&text);
}

static void print(const struct dlb_args *args, enum format format, const json_t *doc,
                  const struct side sides[2])
{
    struct dlb_text text = {0};
    if (format == HTML) {
        print_page(doc, sides);
        return;
    }
    if (format == JSON) {
        dlb_print_json(doc);
        return;
    }
    if (format == MD)
        dlb_report_by_format("md")->render(doc, &(struct dlb_report_opts){0}, &text);
    else
        dlb_compare_render(doc, format == TXT ? 0 : dlb_result_columns(),
                           args->verbose || format == TXT, &text);
    dlb_print_out(text.data, text.len_bytes);
    dlb_text_free(&text);
}

static int compare_stored(const struct dlb_args *args, struct dlb_err *err)
{
    struct side sides[2] = {{.path = NULL}, {.path = NULL}};
    json_t *doc = NULL;
    enum format format;
    int code, rc = format_of(args, &format, err);
    rc = rc ? rc : dlb_rules_check(args, err);
    rc = rc ? rc : compare(args, sides, &doc, err);
    if (rc) {
        code = dlb_rules_refuse(args, "compare", err);
    } else {
        print(args, format, doc, sides);
        code = dlb_rules_conclude(args, doc, DLB_EXIT_OK);
    }
    json_decref(doc);
    free_side(&sides[0]);
    free_side(&sides[1]);
    return code;
}

/* Of which the configurations are the paths. */
static int measure_both(const struct dlb_args *args, struct dlb_err *err)
{
    struct dlb_config *cfgs[2];
    struct dlb_compare_request request;
    struct dlb_args with = *args;
    int rc = dlb_compared_shares(args, &request, err);
    for (int i = 0; i < 2; i++) {
        cfgs[i] = dlb_mem_check(dlb_config_new(dlb_spec_groups()));
        rc = rc ? rc : dlb_installed_load(cfgs[i], i ? args->beside[0] : args->path, err);
        if (!rc && dlb_config_has(args->cfg, "run.drop_caches"))
            rc = dlb_config_set(cfgs[i], "run.drop_caches=true", err);
        rc = rc ? rc : dlb_own_code_apply(cfgs[i], err);
    }
    with.cfg = cfgs[0];
    with.cfg_b = cfgs[1];
    int code = rc ? dlb_print_err(err) : dlb_experiment_run(&with, dlb_scenario_by_name("compare"));
    dlb_config_free(cfgs[0]);
    dlb_config_free(cfgs[1]);
    return code;
}

/* A flag that does nothing here. */
struct idle_flag {
    const char *name;
    bool given;
};

static int refuse_idle(const struct idle_flag *flags, const char *why, struct dlb_err *err)
{
    for (; flags->name; flags++)
        if (flags->given)
            return dlb_fail(err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, flags->name, DLB_NO_OFFSET,
                            "%s", why);
    return DLB_OK;
}

static int check_flags(const struct dlb_args *args, struct dlb_err *err)
{
    const struct idle_flag stored[] = {
        {"--resume", args->resume != NULL},
        {"--results", args->results_named},
        {"--run-name", args->run_name != NULL},
        {"--overwrite", args->overwrite},
        {"--drop-caches", dlb_config_has(args->cfg, "run.drop_caches")},
        {NULL, false},
    };
    const struct idle_flag measured[] = {
        {"--format", args->format != NULL},
        {"--also-a", args->n_also[0] > 0},
        {"--also-b", args->n_also[1] > 0},
        {NULL, false},
    };
    if (args->measures)
        return refuse_idle(measured,
                           "compare --run: measures A and B, which are configurations, and its "
                           "result's folder has the page, report.html",
                           err);
    return refuse_idle(stored,
                       "compare: measures and keeps nothing without --run: results that are there "
                       "are compared at once",
                       err);
}

static int run(const struct dlb_args *args)
{
    struct dlb_err err;
    if (check_flags(args, &err))
        return dlb_print_err(&err);
    if (args->n_beside == 1)
        return args->measures ? measure_both(args, &err) : compare_stored(args, &err);
    (void)dlb_fail(
        &err, args->n_beside ? DLB_ERR_USAGE_UNEXPECTED_ARGUMENT : DLB_ERR_USAGE_MISSING_ARGUMENT,
        NULL, DLB_NO_OFFSET,
        "compare: takes two PATHs, not %u; further results of a side are --also-a and "
        "--also-b",
        1 + args->n_beside);
    return dlb_print_err(&err);
}

const struct dlb_verb dlb_verb_compare = {
    .name = "compare",
    .summary = "Say whether one result is faster than another, and by how much",
    .usage = "dlbench compare A B [--also-a PATH ...] [--also-b PATH ...] [--smallest SHARE] "
             "[--between SHARE] [--fail-on RULE ...] [--strict] [--junit FILE] [--verbose] "
             "[--format FORMAT] "
             "[--json]\n"
             "dlbench compare --run A.toml B.toml [--results DIR] [--run-name NAME] [--overwrite] "
             "[--resume DIR] ...",
    .details =
        "A and B are results, or cells of results: RESULT#3. Cells are aligned by their settings. "
        "For each the change from A to B is printed with its interval and a verdict. FASTER or "
        "SLOWER: the whole interval is beyond the smallest change of interest. SAME: all of it is "
        "within that. UNCLEAR: neither. All intervals hold together with a probability of 95%.\n\n"
        "  dlbench compare results/before results/after\n"
        "  dlbench compare results/sweep#2 results/sweep#5\n"
        "  dlbench compare results/before results/after --fail-on slower\n\n"
        "Results that were made at different times differ by more than their repetitions show. "
        "--between says by how much; better, give more results of either side by --also-a and "
        "--also-b, made at different times, too. The smallest change that the results could have "
        "shown is printed.\n\n"
        "--run measures both now, in turns, block by block, so that nothing but the noise of pairs "
        "is left: A and B are configurations, and the larger run.repeats of the two is the number "
        "of blocks. Its result is kept like that of `dlbench run`.\n\n"
        "  dlbench compare --run before.toml after.toml\n\n"
        "TraceML's final_summary.json (schema 1.7 to 1.9) compare with each other. One of each has "
        "no interval; --also-a and --also-b give it one.\n\n"
        "Of storage the number of accelerators is compared, of gap the rungs and the parts.\n\n"
        "--format html is a page in one file: the answer, the change of each cell with its "
        "interval, what differs beside, and the figures of both results. Of --run it is in the "
        "result's folder. --format md is the answer and its tables, for an issue or a chat.\n\n"
        "  dlbench compare results/before results/after --format html > change.html\n\n"
        "What differs in configuration, data, machine and program is listed, first what may "
        "explain the change; --verbose lists the rest as well.",
    .flags = DLB_FLAG_PATH | DLB_FLAG_BESIDE | DLB_FLAG_JSON | DLB_FLAG_RULES | DLB_FLAG_COMPARE |
             DLB_FLAG_RESULTS | DLB_FLAG_RESUME | DLB_FLAG_QUIET,
    .examples = {"dlbench compare results/before results/after --fail-on slower",
                 "dlbench compare results/sweep#2 results/sweep#5",
                 "dlbench compare --run before.toml after.toml"},
    .run = run,
};
