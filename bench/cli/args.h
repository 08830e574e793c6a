/* The command line.
 *
 * Floor 5. Control thread. Everything points into argv. */
#ifndef DLB_BENCH_CLI_ARGS_H
#define DLB_BENCH_CLI_ARGS_H

#include "bench/cli/verb.h"
#include "core/base/err.h"

#include <stdint.h>

/* A flag that is no option key. */
struct dlb_flag {
    const char *name;  /* without its dashes */
    const char *value; /* "FILE", or NULL when it takes none */
    uint32_t mask;     /* DLB_FLAG_* of the verbs that take it */
    const char *help;
    const char *key; /* the option that it is a shorter name of; or NULL */
};
extern const struct dlb_flag dlb_flags[]; /* ends with name == NULL */

/* Reads what follows the verb. `out->cfg` must be set; the workload is applied to it first,
 * wherever it stands, then configuration files, then every --set, --<section>.<key> and flag of the
 * verb's own section in their order. DLB_E_CONFIG with the nearest flag that exists. */
int dlb_args_parse(const struct dlb_verb *verb, int argc, char **argv, struct dlb_args *out,
                   struct dlb_err *err);

/* Whether --help or -h stands among the arguments. */
bool dlb_args_want_help(int argc, char **argv);

/* The options that a verb takes, up to NULL. */
const struct dlb_opt_group *const *dlb_verb_groups(const struct dlb_verb *verb);

/* The verb of that name, or NULL and *err with the nearest one. */
const struct dlb_verb *dlb_verb_by_name(const char *name, struct dlb_err *err);

#endif
