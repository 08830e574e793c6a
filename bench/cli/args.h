/* The command line.
 *
 * Floor 5. Control thread. Everything points into argv. */
#ifndef DLB_BENCH_CLI_ARGS_H
#define DLB_BENCH_CLI_ARGS_H

#include "bench/cli/verb.h"
#include "core/base/err.h"

#include <stdint.h>

/* A flag with a name of its own, beside the option keys. */
struct dlb_flag {
    const char *name;  /* without its dashes */
    const char *value; /* "FILE", or NULL when it takes none */
    uint32_t mask;     /* DLB_FLAG_* of the verbs that take it */
    const char *help;
    const char *key; /* the option that it is another name for, or NULL */
};
extern const struct dlb_flag dlb_flags[]; /* ends with name == NULL */

/* Parses the arguments after the verb. `out->cfg` must be set. Whatever their order on the line,
 * the workload is applied first, then configuration files, then every --set, --<section>.<key> and
 * flag of the verb's own section in their order. DLB_E_CONFIG, naming the nearest flag that exists.
 */
int dlb_args_parse(const struct dlb_verb *verb, int argc, char **argv, struct dlb_args *out,
                   struct dlb_err *err);

/* Whether --help or -h, or --json, is among the arguments before "--". Reads no further, so that it
 * works for arguments that cannot be parsed. */
bool dlb_args_want_help(int argc, char **argv);
bool dlb_args_want_json(int argc, char **argv);

/* The option groups that a verb takes, up to NULL. */
const struct dlb_opt_group *const *dlb_verb_groups(const struct dlb_verb *verb);

/* The verb of that name, or NULL and *err with the nearest one. */
const struct dlb_verb *dlb_verb_by_name(const char *name, struct dlb_err *err);

#endif
