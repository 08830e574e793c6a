#include "bench/cli/help.h"

#include "bench/base/opt_value.h"
#include "bench/cli/args.h"
#include "bench/cli/print.h"
#include "bench/cli/version.h"
#include "scenarios/spec.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define INDENT 24
#define MAX_WIDTH 110
#define MIN_WIDTH 50

static uint32_t width_of(FILE *out)
{
    struct winsize size;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 90;
    return size.ws_col > MAX_WIDTH ? MAX_WIDTH : size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col;
}

void dlb_help_overview(FILE *out)
{
    uint32_t width = width_of(out);

    dlb_print_folded(out,
                     "dlbench measures how fast training data can be loaded: which loader settings "
                     "feed the accelerator, and "
                     "what holds it back if they do not.\n",
                     0, 0, width);
    (void)fputs("Usage: dlbench COMMAND [FLAGS]\n\nCommands:\n", out);
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if (!((*verb)->flags & DLB_FLAG_HIDDEN))
            dlb_print_folded(out, (*verb)->summary, 12,
                             (uint32_t)fprintf(out, "  %s", (*verb)->name), width);
    (void)fputs("\nTry first:\n"
                "  dlbench gen --config configs/quickstart.toml\n"
                "  dlbench sweep --config configs/quickstart.toml\n\n"
                "`dlbench help COMMAND` lists a command's flags and options; `dlbench --version` "
                "says what this is.\n"
                "Exit codes: 0 fine, 1 the answer is no, 2 wrong usage or configuration, 3 it "
                "could not be done,\n"
                "130 interrupted.\n",
                out);
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
    dlb_print_folded(out, "print this and leave", INDENT, (uint32_t)fprintf(out, "  --help"),
                     width);
}

static void help_group(FILE *out, const struct dlb_opt_group *group, uint32_t width)
{
    char value[256], text[512];

    (void)fprintf(out, "\n[%s] %s\n", group->section, group->title);
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        int column = fprintf(out, "  %s", opt->key);
        (void)snprintf(text, sizeof text, "%s (%s)", opt->help,
                       dlb_help_value_text(opt, value, sizeof value));
        dlb_print_folded(out, text, INDENT, (uint32_t)column, width);
    }
}

void dlb_help_verb(FILE *out, const struct dlb_verb *verb)
{
    uint32_t width = width_of(out);

    (void)fprintf(out, "%s\n\nUsage: %s\n", verb->summary, verb->usage);
    if (verb->details && *verb->details) {
        (void)fputc('\n', out);
        dlb_print_folded(out, verb->details, 0, 0, width);
    }
    help_flags(out, verb, width);
    if (!(verb->flags & DLB_FLAG_CONFIG))
        return;
    (void)fputc('\n', out);
    dlb_print_folded(out,
                     "Options, by the section of the file that holds them. On the command line: "
                     "--set SECTION.KEY=VALUE or "
                     "--SECTION.KEY VALUE. `dlbench sweep` tries every value of a list: "
                     "--set 'sweep.SECTION.KEY=[A, B]'.",
                     0, 0, width);
    for (const struct dlb_opt_group *const *group = dlb_spec_groups(); *group; group++)
        help_group(out, *group, width);
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
}
