/* The man page, from the same tables as --help: `dlbench man | man -l -`. */
#include "bench/cli/verb.h"

#include "bench/cli/args.h"
#include "bench/cli/help.h"
#include "bench/cli/version.h"
#include "scenarios/spec/spec.h"

#include <stdio.h>
#include <string.h>

/* troff reads a leading "." or "'" as a request, "\" as an escape and "-" as a hyphen. */
static void put_text(const char *text)
{
    bool line_start = true;

    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", stdout);
        if (*text == '\\')
            (void)fputs("\\e", stdout);
        else if (*text == '-')
            (void)fputs("\\-", stdout);
        else
            (void)putchar(*text);
        line_start = *text == '\n';
    }
}

static void put_paragraphs(const char *text)
{
    while (*text) {
        size_t n_line = strcspn(text, "\n");
        char line[2048];
        bool example = *text == ' ';

        (void)snprintf(line, sizeof line, "%.*s", (int)n_line, text);
        if (example)
            (void)puts(".nf");
        put_text(line);
        (void)putchar('\n');
        if (example)
            (void)puts(".fi");
        text += n_line;
        if (text[0] == '\n' && text[1] == '\n')
            (void)puts(".PP");
        text += strspn(text, "\n");
    }
}

static void put_verb(const struct dlb_verb *verb)
{
    (void)fputs(".SS ", stdout);
    put_text(verb->name);
    (void)fputs("\n.B ", stdout);
    put_text(verb->usage);
    (void)fputs("\n.PP\n", stdout);
    put_text(verb->summary);
    (void)fputs(".\n", stdout);
    if (verb->details && *verb->details) {
        (void)puts(".PP");
        put_paragraphs(verb->details);
    }
}

static void put_flags(void)
{
    (void)puts(".SH FLAGS");
    for (const struct dlb_flag *flag = dlb_flags; flag->name; flag++) {
        (void)fputs(".TP\n.B \\-\\-", stdout);
        put_text(flag->name);
        if (flag->value)
            (void)printf(" \\fI%s\\fR", flag->value);
        (void)putchar('\n');
        put_text(flag->help);
        (void)puts(". Taken by:");
        for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
            if (((*verb)->flags & flag->mask) && !((*verb)->flags & DLB_FLAG_HIDDEN)) {
                put_text((*verb)->name);
                (void)putchar('\n');
            }
    }
}

static void put_group(const struct dlb_opt_group *group)
{
    char value[256];

    (void)printf(".SS [%s]\n", group->section);
    put_text(group->title);
    (void)putchar('\n');
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        (void)printf(".TP\n.B ");
        put_text(group->section);
        (void)putchar('.');
        put_text(opt->key);
        (void)putchar('\n');
        put_text(opt->help);
        (void)fputs("\n(", stdout);
        put_text(dlb_help_value_text(opt, value, sizeof value));
        (void)puts(").");
    }
}

/* The options that only this verb takes. */
static void put_own_group(const struct dlb_verb *verb)
{
    for (const struct dlb_opt_group *const *group = verb->groups; group && *group; group++)
        if (verb->section && strcmp((*group)->section, verb->section) == 0)
            put_group(*group);
}

static void put_errors(void)
{
    (void)puts(".SH ERRORS");
    put_paragraphs(dlb_help_on_errors);
    for (enum dlb_code code = 0; code < DLB_N_CODES; code++) {
        (void)printf(".TP\n.B %s\n", dlb_code_name(code));
        put_text(dlb_code_text(code));
        (void)printf(" (exit code %d)\n", dlb_exit_code(dlb_code_status(code)));
    }
}

static int run(const struct dlb_args *args)
{
    (void)args;
    (void)printf(".TH DLBENCH 1 \"\" \"dlbench %s\" \"User Commands\"\n", DLB_VERSION);
    (void)puts(".SH NAME\ndlbench \\- measure how fast training data can be loaded\n"
               ".SH SYNOPSIS\n.B dlbench\n.I COMMAND\n[\\fIFLAGS\\fR]\n.SH COMMANDS");
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if (!((*verb)->flags & DLB_FLAG_HIDDEN))
            put_verb(*verb);
    put_flags();
    (void)puts(
        ".SH OPTIONS\n"
        "In the TOML file each section is a table. On the command line: \\fB\\-\\-set\\fR "
        "\\fISECTION.KEY=VALUE\\fR or \\fB\\-\\-\\fISECTION.KEY VALUE\\fR. \\fBdlbench sweep\\fR "
        "tries every value of a list under \\fBsweep.\\fISECTION.KEY\\fR.");
    for (const struct dlb_opt_group *const *group = dlb_spec_groups(); *group; group++)
        put_group(*group);
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        put_own_group(*verb);
    put_errors();
    (void)puts(
        ".SH EXIT STATUS\n.TP\n.B 0\nFine. Some cells of a sweep or rungs of a ladder may have "
        "failed: stderr then says how many, and the document has their codes.\n.TP\n.B 1\nA rule "
        "of "
        "\\-\\-fail\\-on failed, or a check of doctor found a problem.\n"
        ".TP\n.B 2\nWrong usage or configuration.\n"
        ".TP\n.B 3\nThe work could not be done.\n.TP\n.B 130\nInterrupted.");
    return DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_man = {
    .name = "man",
    .summary = "Print the manual page, in troff",
    .usage = "dlbench man",
    .details = "Print commands, flags, options, errors and exit codes as one page. Read it with\n\n"
               "  dlbench man | man -l -",
    .flags = 0,
    .run = run,
};
