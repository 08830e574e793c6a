/* --fail-on, --strict, --junit and --traceml: from a document to files and an exit code.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_RULES_H
#define DLB_BENCH_EXPERIMENT_RULES_H

#include "bench/cli/verb.h"

#include <jansson.h>

/* Before anything is measured: EXPORT_PATH, if a file cannot be written. */
int dlb_rules_check(const struct dlb_args *args, struct dlb_err *err);

/* Puts what the rules come to into the document, as "rules"; nothing without rules. `of` as in
 * dlb_rules_judge. */
int dlb_rules_put(const struct dlb_args *args, json_t *doc, const json_t *of, struct dlb_err *err);

/* Prints on stderr the rules that did not pass, writes the files of --junit and --traceml, and
 * returns the exit code: `code`, unless that is OK and a rule failed. */
int dlb_rules_conclude(const struct dlb_args *args, const json_t *doc, int code);

/* Where there is no document: prints the error, writes it to the file of --junit, so that none of
 * an earlier run is taken for this one's, and returns its exit code. */
int dlb_rules_refuse(const struct dlb_args *args, const char *command, struct dlb_err *err);

#endif
