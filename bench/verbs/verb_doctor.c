#include "bench/cli/verb.h"

#include "bench/cli/print.h"
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/host/check.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"
#include "reports/report.h"
#include "scenarios/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[] = {
    [DLB_CHECK_OK] = "ok", [DLB_CHECK_NOTE] = "note", [DLB_CHECK_BAD] = "bad"};

/* Adds every module of a table whose rows have name, summary and missing. */
#define ADD_TABLE(modules, kind, type, table)                                                      \
    for (const type *const *row = (table); *row; row++)                                            \
    add_module((modules), (kind), (*row)->name, (*row)->summary, (*row)->missing)

static void add_module(json_t *modules, const char *kind, const char *name, const char *summary,
                       const char *missing)
{
    dlb_json_append(modules, dlb_json_made(json_pack("{s:s, s:s, s:s, s:b, s:s?}", "kind", kind,
                                                     "name", name, "summary", summary, "available",
                                                     missing == NULL, "missing", missing)));
}

static json_t *list_modules(void)
{
    json_t *modules = dlb_json_made(json_array());

    ADD_TABLE(modules, "format", struct dlb_format, dlb_formats);
    ADD_TABLE(modules, "codec", struct dlb_codec, dlb_codecs);
    ADD_TABLE(modules, "loader", struct dlb_loader, dlb_loaders);
    ADD_TABLE(modules, "device", struct dlb_device, dlb_devices);
    for (const struct dlb_scenario *const *row = dlb_scenarios; *row; row++)
        add_module(modules, "scenario", (*row)->name, (*row)->summary, NULL);
    for (const struct dlb_report *const *row = dlb_reports; *row; row++)
        add_module(modules, "report", (*row)->name, (*row)->summary, NULL);
    return modules;
}

static json_t *run_checks(uint32_t *n_bad)
{
    json_t *checks = dlb_json_made(json_array());

    *n_bad = 0;
    for (const struct dlb_check *const *check = dlb_checks; *check; check++) {
        struct dlb_check_result result = {.state = DLB_CHECK_OK};
        (*check)->run(&result);
        *n_bad += result.state == DLB_CHECK_BAD;
        dlb_json_append(checks, dlb_json_made(json_pack(
                                    "{s:s, s:s, s:s, s:o, s:o}", "name", (*check)->name, "summary",
                                    (*check)->summary, "state", state_names[result.state], "found",
                                    dlb_json_safe_text(result.found), "advice",
                                    dlb_json_safe_text(result.advice))));
    }
    return checks;
}

/* What a check found may name files and devices. */
static void print_found(const char *text, uint32_t indent, uint32_t column)
{
    char *shown = dlb_escaped(text, DLB_ESCAPE_CONTROLS);
    dlb_print_folded(stdout, shown, indent, column, dlb_print_width(stdout));
    free(shown);
}

/* Two words in columns, then text folded beside them. */
static void print_row(const char *first, int n_first, const char *second, int n_second,
                      const char *text)
{
    int column = printf("  %-*s %-*s", n_first, first, n_second, second);
    uint32_t at = column > 0 ? (uint32_t)column : 0;
    print_found(text, at + 1, at);
}

static void print_text(const json_t *modules, const json_t *checks)
{
    const char *last_kind = "";
    const json_t *row;
    size_t i;

    (void)puts("Modules");
    json_array_foreach(modules, i, row) {
        const char *kind = dlb_json_text(row, "kind"), *missing = dlb_json_text(row, "missing");
        char words[512];
        (void)snprintf(words, sizeof words, "%s%s", *missing ? "MISSING: " : "ok: ",
                       *missing ? missing : dlb_json_text(row, "summary"));
        print_row(strcmp(kind, last_kind) == 0 ? "" : kind, 9, dlb_json_text(row, "name"), 11,
                  words);
        last_kind = kind;
    }
    (void)puts("\nThis machine");
    json_array_foreach(checks, i, row) {
        print_row(dlb_json_text(row, "state"), 4, dlb_json_text(row, "name"), 16,
                  dlb_json_text(row, "found"));
        if (*dlb_json_text(row, "advice"))
            print_found(dlb_json_text(row, "advice"), 24, 0);
    }
}

static int run(const struct dlb_args *args)
{
    uint32_t n_bad;
    json_t *modules = list_modules(), *checks = run_checks(&n_bad);
    json_t *doc = dlb_json_made(json_pack("{s:s, s:b, s:o, s:o}", "command", "doctor", "ok",
                                          n_bad == 0, "modules", modules, "checks", checks));

    if (args->json)
        dlb_print_json(doc);
    else
        print_text(modules, checks);
    json_decref(doc);
    return n_bad > 0 ? DLB_EXIT_NO : DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_doctor = {
    .name = "doctor",
    .summary = "List what this build has, and what on this machine disturbs measurements",
    .usage = "dlbench doctor [--json]",
    .details =
        "List every format, codec, loader, device, scenario and report, with the reason if this "
        "build lacks it. Then check the machine: each check is ok, note or bad, with what to do "
        "about it. Run it first on a new machine. It changes nothing.\n\n"
        "  dlbench doctor\n\n"
        "Exit code 1 if a check is bad. With --json: command, ok, modules[kind, name, summary, "
        "available, missing], checks[name, summary, state, found, advice].",
    .flags = DLB_FLAG_JSON,
    .run = run,
};
