/* Completion for shells, from the same tables as --help. */
#include "bench/cli/verb.h"

#include "bench/cli/args.h"
#include "bench/cli/print.h"
#include "core/base/escape.h"
#include "core/base/opt.h"

#include <stdio.h>
#include <string.h>

/* One flag, or one option as a flag. */
struct word {
    const struct dlb_verb *verb;
    const char *name, *help;
    const char *const *choices; /* up to NULL; NULL: any value */
    bool takes_value;
};

typedef void tell_word(const struct word *word);

static const char *const truth[] = {"true", "false", NULL};

static void tell_option(const struct dlb_verb *verb, const char *name, const struct dlb_opt *opt,
                        tell_word *tell)
{
    struct word word = {verb, name, opt->help, NULL, true};
    if (opt->type == DLB_OPT_CHOICE)
        word.choices = opt->choices;
    else if (opt->type == DLB_OPT_BOOL)
        word.choices = truth;
    tell(&word);
}

/* A key of the verb's own section is a flag by itself, with - for _. */
static void tell_own(const struct dlb_verb *verb, const struct dlb_opt *opt, tell_word *tell)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s", opt->key);
    for (char *at = name; (at = strchr(at, '_'));)
        *at = '-';
    tell_option(verb, name, opt, tell);
}

static void tell_group(const struct dlb_verb *verb, const struct dlb_opt_group *group,
                       tell_word *tell)
{
    bool own = verb->section && strcmp(verb->section, group->section) == 0;
    char name[96];
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        (void)snprintf(name, sizeof name, "%s.%s", group->section, opt->key);
        if (verb->flags & DLB_FLAG_CONFIG)
            tell_option(verb, name, opt, tell);
        if (own)
            tell_own(verb, opt, tell);
    }
}

static void tell_all(const struct dlb_verb *verb, tell_word *tell)
{
    for (const struct dlb_flag *flag = dlb_flags; flag->name; flag++)
        if (flag->mask & verb->flags)
            tell(&(struct word){verb, flag->name, flag->help, NULL, flag->value != NULL});
    tell(&(struct word){verb, "help", "print a page of help", NULL, false});
    if (!(verb->flags & DLB_FLAG_CONFIG) && !verb->section)
        return;
    for (const struct dlb_opt_group *const *group = dlb_verb_groups(verb); *group; group++)
        tell_group(verb, *group, tell);
}

static void each_verb(void (*tell)(const struct dlb_verb *verb))
{
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if (!((*verb)->flags & DLB_FLAG_HIDDEN))
            tell(*verb);
}

static void each_word(tell_word *tell)
{
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if (!((*verb)->flags & DLB_FLAG_HIDDEN))
            tell_all(*verb, tell);
}

static void put_choices(const struct word *word)
{
    for (const char *const *choice = word->choices; *choice; choice++)
        (void)printf("%s%s", choice == word->choices ? "" : " ", *choice);
}

/* Within single quotes, in which fish alone has escapes. */
static void put_quoted(const char *text, bool fish)
{
    for (; *text; text++)
        if (*text == '\'')
            (void)fputs(fish ? "\\'" : "'\\''", stdout);
        else if (*text == '\\' && fish)
            (void)fputs("\\\\", stdout);
        else
            (void)putchar(*text);
}

static void put_name(const struct dlb_verb *verb)
{
    (void)printf("%s ", verb->name);
}

static void bash_word(const struct word *word)
{
    (void)printf("--%s ", word->name);
}

static void bash_verb(const struct dlb_verb *verb)
{
    (void)printf("    %s) printf '%%s' '", verb->name);
    tell_all(verb, bash_word);
    (void)puts("' ;;");
}

static void bash_values(const struct word *word)
{
    if (!word->choices)
        return;
    (void)printf("    %s:--%s) printf '%%s' '", word->verb->name, word->name);
    put_choices(word);
    (void)puts("' ;;");
}

static void bash(void)
{
    (void)puts("# Completion of dlbench for bash: . <(dlbench completion bash)\n"
               "_dlbench_words() {\n    case $1 in");
    each_verb(bash_verb);
    (void)puts("    esac\n}\n_dlbench_values() {\n    case $1:$2 in");
    each_word(bash_values);
    (void)fputs("    help:*) printf '%s' 'errors keys ", stdout);
    each_verb(put_name);
    (void)fputs("' ;;\n"
                "    completion:*) printf '%s' 'bash zsh fish' ;;\n"
                "    esac\n}\n"
                "_dlbench() {\n"
                "    local cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) words\n"
                "    # bash takes \"--name=value\" for three words\n"
                "    [[ $cur == '=' ]] && cur='' && at=$((at + 1))\n"
                "    [[ ${COMP_WORDS[at]} == '=' ]] && at=$((at - 1))\n"
                "    if ((COMP_CWORD == 1)); then\n"
                "        words='help ",
                stdout);
    each_verb(put_name);
    (void)puts("'\n"
               "    elif [[ $cur == -* ]]; then\n"
               "        words=$(_dlbench_words \"${COMP_WORDS[1]}\")\n"
               "    else\n"
               "        words=$(_dlbench_values \"${COMP_WORDS[1]}\" \"${COMP_WORDS[at]}\")\n"
               "    fi\n"
               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
               "}\n"
               "complete -o default -F _dlbench dlbench");
}

static void zsh_word(const struct word *word)
{
    (void)printf("            '--%s:", word->name);
    put_quoted(word->help, false);
    (void)puts("'");
}

static void zsh_verb(const struct dlb_verb *verb)
{
    (void)printf("        %s) choices=(\n", verb->name);
    tell_all(verb, zsh_word);
    (void)puts("        ) ;;");
}

static void zsh_values(const struct word *word)
{
    if (!word->choices)
        return;
    (void)printf("    %s:--%s) compadd -- ", word->verb->name, word->name);
    put_choices(word);
    (void)puts("; return ;;");
}

static void zsh_summary(const struct dlb_verb *verb)
{
    (void)printf("            '%s:", verb->name);
    put_quoted(verb->summary, false);
    (void)puts("'");
}

static void zsh(void)
{
    (void)puts("#compdef dlbench\n"
               "# Completion of dlbench for zsh: a file _dlbench in a folder of $fpath.\n"
               "_dlbench() {\n"
               "    local -a choices\n"
               "    local verb=$words[2] before=$words[CURRENT-1]\n"
               "    if ((CURRENT == 2)); then\n"
               "        choices=(\n"
               "            'help:Show the help of a command'");
    each_verb(zsh_summary);
    (void)puts("        )\n"
               "        _describe command choices\n"
               "        return\n"
               "    fi\n"
               "    case $verb:$before in");
    each_word(zsh_values);
    (void)fputs("    help:*) compadd -- errors keys ", stdout);
    each_verb(put_name);
    (void)puts("; return ;;\n"
               "    completion:*) compadd -- bash zsh fish; return ;;\n"
               "    esac\n"
               "    if [[ $PREFIX != -* ]]; then\n"
               "        _files\n"
               "        return\n"
               "    fi\n"
               "    case $verb in");
    each_verb(zsh_verb);
    (void)puts("    esac\n"
               "    _describe -o option choices\n"
               "}\n"
               "if [[ $funcstack[1] == _dlbench ]]; then _dlbench \"$@\"; else compdef _dlbench "
               "dlbench; fi");
}

static void fish_word(const struct word *word)
{
    (void)printf("complete -c dlbench -n '__fish_seen_subcommand_from %s' -l %s", word->verb->name,
                 word->name);
    if (word->choices) {
        (void)fputs(" -x -a '", stdout);
        put_choices(word);
        (void)fputs("'", stdout);
    } else if (word->takes_value) {
        (void)fputs(" -r", stdout);
    }
    (void)fputs(" -d '", stdout);
    put_quoted(word->help, true);
    (void)puts("'");
}

static void fish_verb(const struct dlb_verb *verb)
{
    (void)printf("complete -c dlbench -f -n __fish_use_subcommand -a %s -d '", verb->name);
    put_quoted(verb->summary, true);
    (void)puts("'");
    tell_all(verb, fish_word);
}

static void fish(void)
{
    (void)puts("# Completion of dlbench for fish: dlbench completion fish | source");
    each_verb(fish_verb);
    (void)fputs("complete -c dlbench -f -n '__fish_seen_subcommand_from help' -a 'errors keys ",
                stdout);
    each_verb(put_name);
    (void)puts("'\n"
               "complete -c dlbench -f -n '__fish_seen_subcommand_from completion' -a "
               "'bash zsh fish'");
}

static int run(const struct dlb_args *args)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    struct dlb_err err;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(args->path, shells[i].name) == 0) {
            shells[i].print();
            return DLB_EXIT_OK;
        }
    (void)dlb_fail(&err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, NULL, DLB_NO_OFFSET,
                   "completion: \"%.*s\" is none of: bash, zsh, fish", DLB_CUT(args->path, 40));
    return dlb_print_err(&err);
}

const struct dlb_verb dlb_verb_completion = {
    .name = "completion",
    .summary = "Print completion for a shell: commands, flags, option keys and their values",
    .usage = "dlbench completion bash|zsh|fish",
    .details = "Print a script that completes commands, flags, option keys, and the values of keys "
               "that have a few.\n\n"
               "  dlbench completion bash >~/.local/share/bash-completion/completions/dlbench\n"
               "  dlbench completion zsh >~/.zfunc/_dlbench\n"
               "  dlbench completion fish >~/.config/fish/completions/dlbench.fish",
    .flags = DLB_FLAG_PATH,
    .run = run,
};
