#include "bench/cli/help.h"

#include "bench/cli/args.h"
#include "bench/cli/libraries.h"
#include "bench/cli/print.h"
#include "bench/cli/version.h"
#include "core/base/opt_value.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <string.h>

#define INDENT 24

void dlb_help_overview(FILE *out)
{
    uint32_t width = dlb_print_width(out);

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
                "  dlbench sweep --config configs/quickstart.toml\n\n",
                out);
    dlb_print_folded(out,
                     "`dlbench help COMMAND` lists a command's flags and options; `dlbench "
                     "--version` says what this is.\n"
                     "Exit codes: 0 fine, 1 the answer is no, 2 wrong usage or configuration, 3 it "
                     "could not be done, 130 interrupted.",
                     0, 0, width);
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

    uint32_t head = (uint32_t)fprintf(out, "\n[%s]", group->section) - 1;
    dlb_print_folded(out, group->title, head + 1, head, width);
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        int column = fprintf(out, "  %s", opt->key);
        (void)snprintf(text, sizeof text, "%s (%s)", opt->help,
                       dlb_help_value_text(opt, value, sizeof value));
        dlb_print_folded(out, text, INDENT, (uint32_t)column, width);
    }
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
    if (!(verb->flags & DLB_FLAG_CONFIG))
        return;
    (void)fputc('\n', out);
    dlb_print_folded(out,
                     "Options, by the section of the file that holds them. On the command line: "
                     "--set SECTION.KEY=VALUE or "
                     "--SECTION.KEY VALUE. `dlbench sweep` tries every value of a list: "
                     "--set 'sweep.SECTION.KEY=[A, B]'.",
                     0, 0, width);
    if (verb->section)
        (void)fprintf(out, "Keys of [%s] are flags by themselves, with - for _.\n", verb->section);
    for (const struct dlb_opt_group *const *group = dlb_verb_groups(verb); *group; group++)
        help_group(out, *group, width);
}

/* As they are loaded: a file's name says more than the version compiled against. */
static void libraries(FILE *out)
{
    static const char *const names[] = {"libarchive", "libjpeg", "libhwloc"};
    json_t *found = json_object();
    const json_t *list, *entry;
    size_t at;

    if (!found || !dlb_libraries_add(found)) {
        json_decref(found);
        return;
    }
    list = json_object_get(json_object_get(found, "versions"), "libraries");
    (void)fputs("with", out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *shown = NULL;
        json_array_foreach(list, at, entry)
            if (strncmp(json_string_value(entry), names[i], strlen(names[i])) == 0)
                shown = json_string_value(entry);
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
