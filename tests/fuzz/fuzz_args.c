/* The command line: the first byte chooses the verb, lines are its arguments. Files that they name
 * are read, so --config and --workload go without a value here. */
#include "bench/cli/args.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static bool names_a_file(const char *arg)
{
    return strncmp(arg, "--config", 8) == 0 || strncmp(arg, "--workload", 10) == 0;
}

static int split(char *text, char *argv[MAX_ARGS + 1])
{
    int argc = 0;
    char *rest = text;

    for (char *line; argc < MAX_ARGS && (line = strsep(&rest, "\n"));) {
        argv[argc++] = line;
        if (names_a_file(line))
            break; /* as the last one, without a value */
    }
    if (argc && names_a_file(argv[argc - 1]))
        argv[argc - 1][strcspn(argv[argc - 1], "=")] = '\0';
    argv[argc] = NULL;
    return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static struct dlb_spec spec;
    char *argv[MAX_ARGS + 1];
    struct dlb_err err = {.status = DLB_OK};
    unsigned n_verbs = 0;

    if (n_bytes < 1)
        return 0;
    while (dlb_verbs[n_verbs])
        n_verbs++;
    const struct dlb_verb *verb = dlb_verbs[data[0] % n_verbs];
    char *text = malloc(n_bytes);
    struct dlb_args args = {.cfg = dlb_config_new(dlb_verb_groups(verb))};
    if (!text || !args.cfg)
        abort();
    memcpy(text, data + 1, n_bytes - 1);
    text[n_bytes - 1] = '\0';
    int argc = split(text, argv);
    (void)dlb_args_want_help(argc, argv);
    (void)dlb_args_want_json(argc, argv);
    (void)dlb_verb_by_name(argc ? argv[0] : "", &err);
    int rc = dlb_args_parse(verb, argc, argv, &args, &err);
    if (rc != DLB_OK && (rc != (int)err.status || err.what[0] == '\0'))
        DLB_BUG("an error without words");
    if (rc == DLB_OK && !verb->groups) {
        rc = dlb_spec_from_config(&spec, args.cfg, &err);
        if (rc != DLB_OK && (rc != (int)err.status || err.what[0] == '\0'))
            DLB_BUG("an error without words");
    }
    dlb_config_free(args.cfg);
    free(text);
    return 0;
}
