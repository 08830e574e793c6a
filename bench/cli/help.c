#include "bench/cli/help.h"

#include "bench/cli/args.h"
#include "bench/cli/libraries.h"
#include "bench/cli/print.h"
#include "bench/cli/version.h"
#include "core/base/json.h"
#include "core/base/opt_value.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <string.h>

#define INDENT 24
#define INDENT_CODE 28

void dlb_help_overview(FILE *out)
{
    uint32_t width = dlb_print_width(out);

    dlb_print_folded(out,
                     "Measure how fast training data can be loaded: which loader settings feed the "
                     "accelerator, and what slows it down when they do not.\n",
                     0, 0, width);
    (void)fputs("Usage: dlbench COMMAND [FLAGS]\n"
                "       dlbench PATH             what lies there, and a sweep of ten minutes\n\n"
                "Commands:\n",
                out);
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if (!((*verb)->flags & DLB_FLAG_HIDDEN))
            dlb_print_folded(out, (*verb)->summary, 14,
                             (uint32_t)fprintf(out, "  %s", (*verb)->name), width);
    (void)fputs("\nTry first:\n"
                "  dlbench gen --config configs/quickstart.toml\n"
                "  dlbench sweep --config configs/quickstart.toml\n\n",
                out);
    dlb_print_folded(
        out,
        "`dlbench help COMMAND` is a page about a command, `dlbench help keys [SECTION]` lists all "
        "keys of configurations, `dlbench help errors` every error code, `dlbench --version` the "
        "version and its libraries.\n"
        "Exit codes: 0 fine, 1 a rule of --fail-on failed or doctor found a problem, 2 wrong usage "
        "or "
        "configuration, 3 the work could not be done, 130 interrupted. 0 also means that only some "
        "cells failed: stderr then says how many.",
        0, 0, width);
}

const char *const dlb_help_on_errors =
    "An error ends a command with one line on stderr, \"dlbench: PATH @ OFFSET: TEXT [CODE]\", of "
    "which PATH and OFFSET are left out where there is none. With --json stdout holds {\"error\": "
    "{\"code\", \"text\", \"path\", \"offset\"}} as well, unless a result was printed. Scripts can "
    "rely on codes and exit codes; texts may change.\n"
    "Names are escaped: control characters, and bytes that are not valid UTF-8, are printed as "
    "\\xHH, "
    "and a backslash before an x as \\x5c. JSON strings have \\xHH for the latter two.";

/* The exit codes that errors lead to, in their order. */
static const struct {
    int exit;
    const char *title;
} exits[] = {{DLB_EXIT_USAGE, "Exit code 2, wrong usage or configuration:"},
             {DLB_EXIT_FAILED, "Exit code 3, the work could not be done:"},
             {DLB_EXIT_INTERRUPTED, "Exit code 130, interrupted:"}};

void dlb_help_errors(FILE *out)
{
    uint32_t width = dlb_print_width(out);

    dlb_print_folded(out, dlb_help_on_errors, 0, 0, width);
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        (void)fprintf(out, "\n%s\n", exits[i].title);
        for (enum dlb_code code = 0; code < DLB_N_CODES; code++)
            if (dlb_exit_code(dlb_code_status(code)) == exits[i].exit)
                dlb_print_folded(out, dlb_code_text(code), INDENT_CODE,
                                 (uint32_t)fprintf(out, "  %s", dlb_code_name(code)), width);
    }
}

const char *dlb_help_value_text(const struct dlb_opt *opt, char *text, size_t n_text)
{
    char range[160];
    const char *def = *opt->def ? opt->def : "\"\"";

    if (opt->type == DLB_OPT_STRING)
        (void)snprintf(text, n_text, "default %s", def);
    else
        (void)snprintf(text, n_text, "default %s; %s", def,
                       dlb_opt_range_text(opt, range, sizeof range));
    return text;
}

static void help_flags(FILE *out, const struct dlb_verb *verb, uint32_t width)
{
    (void)fputs("\nFlags:\n", out);
    for (const struct dlb_flag *flag = dlb_flags; flag->name; flag++) {
        if (!(flag->mask & verb->flags))
            continue;
        int column = fprintf(out, "  --%s%s%s", flag->name, flag->value ? " " : "",
                             flag->value ? flag->value : "");
        dlb_print_folded(out, flag->help, INDENT, (uint32_t)column, width);
    }
    dlb_print_folded(out, "print this help", INDENT, (uint32_t)fprintf(out, "  --help"), width);
}

void dlb_help_group(FILE *out, const struct dlb_opt_group *group, uint32_t width)
{
    char value[256], text[512];

    uint32_t head = (uint32_t)fprintf(out, "\n[%s]", group->section) - 1;
    dlb_print_folded(out, group->title, head + 1, head, width);
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        int column = fprintf(out, "  %s", opt->key);
        (void)snprintf(text, sizeof text, "%s (%s)", opt->help,
                       dlb_help_value_text(opt, value, sizeof value));
        dlb_print_folded(out, text, INDENT, (uint32_t)column, width);
    }
}

static void help_options(FILE *out, uint32_t width)
{
    (void)fputc('\n', out);
    dlb_print_folded(
        out,
        "Options, by section of the configuration file. On the command line: --set "
        "SECTION.KEY=VALUE or --SECTION.KEY VALUE. `dlbench sweep` tries every value "
        "of a list: --set 'sweep.SECTION.KEY=[A, B]'. A value that begins with a quote is a "
        "string as in TOML: \"...\" with escapes, '...' without.",
        0, 0, width);
}

void dlb_help_verb(FILE *out, const struct dlb_verb *verb)
{
    uint32_t width = dlb_print_width(out);

    dlb_print_folded(out, verb->summary, 0, 0, width);
    (void)fputs("\nUsage:", out);
    dlb_print_folded(out, verb->usage, 7, 6, width);
    if (verb->details && *verb->details) {
        (void)fputc('\n', out);
        dlb_print_folded(out, verb->details, 0, 0, width);
    }
    help_flags(out, verb, width);
    if (verb->flags & DLB_FLAG_CONFIG)
        help_options(out, width);
    else if (!verb->section)
        return;
    if (verb->section)
        (void)fprintf(out, "%sKeys of [%s] are %sflags of their own, with - for _.\n",
                      verb->flags & DLB_FLAG_CONFIG ? "" : "\n", verb->section,
                      verb->flags & DLB_FLAG_CONFIG ? "also " : "");
    for (const struct dlb_opt_group *const *group = dlb_verb_groups(verb); *group; group++)
        dlb_help_group(out, *group, width);
}

/* A shared library's file name holds its exact version; its header only has that of the build. */
static void libraries(FILE *out)
{
    static const char *const names[] = {"libarchive", "libjpeg",    "libpng",
                                        "libwebp",    "libsndfile", "libhwloc"};
    json_t *found = dlb_json_made(json_object());
    const json_t *list, *entry;
    size_t at;

    dlb_libraries_add(found);
    list = json_object_get(json_object_get(found, "versions"), "libraries");
    (void)fputs("with", out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *shown = NULL;
        json_array_foreach(list, at, entry) {
            if (strncmp(json_string_value(entry), names[i], strlen(names[i])) == 0)
                shown = json_string_value(entry);
        }
        (void)fprintf(out, "%s %s%s", i ? "," : "", shown ? "" : "no ", shown ? shown : names[i]);
    }
    (void)fputc('\n', out);
    json_decref(found);
}

void dlb_version(FILE *out)
{
    (void)fprintf(out, "dlbench %s (commit %s)\n", DLB_VERSION, DLB_COMMIT);
    (void)fprintf(out, "jansson %s, glibc %s, compiled by %s %s\n", jansson_version_str(),
                  gnu_get_libc_version(),
#ifdef __clang__
                  "clang", __clang_version__
#else
                  "gcc", __VERSION__
#endif
    );
    libraries(out);
}
