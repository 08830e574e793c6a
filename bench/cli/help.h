/* --help and --version: text made from the tables of verbs, flags, options and errors.
 *
 * Floor 5. Control thread; prints. */
#ifndef DLB_BENCH_CLI_HELP_H
#define DLB_BENCH_CLI_HELP_H

#include "bench/cli/verb.h"
#include "core/base/opt.h"

#include <stddef.h>
#include <stdio.h>

void dlb_help_overview(FILE *out);

/* All that is known of a verb: details, flags, and every key that it takes. */
void dlb_help_verb(FILE *out, const struct dlb_verb *verb);

/* The keys of one section, with help, default and range, after an empty line. */
void dlb_help_group(FILE *out, const struct dlb_opt_group *group, uint32_t width);
void dlb_version(FILE *out);

/* What errors look like, and every code of errors.def by its exit code. */
void dlb_help_errors(FILE *out);

/* The paragraph that dlb_help_errors and the man page begin with. Static. */
extern const char *const dlb_help_on_errors;

/* An option's default and range: "default 2; 0 to 1024 workers". Returns `text`. */
const char *dlb_help_value_text(const struct dlb_opt *opt, char *text, size_t n_text);

#endif
