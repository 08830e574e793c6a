/* Files that a result is also written to: --junit and --traceml; --prometheus and --trace are
 * checked here, and written by the verb and by traced.h.
 *
 * Floor 5, private to bench/experiment. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_EXPORTS_H
#define DLB_BENCH_EXPERIMENT_EXPORTS_H

#include "bench/cli/verb.h"

#include <jansson.h>

/* Before anything is measured: EXPORT_PATH, if a file cannot be written, two flags name the same
 * one, or one holds what the flag did not write: only an earlier export is replaced. */
int dlb_exports_check(const struct dlb_args *args, struct dlb_err *err);

/* The same of one file, before it is written: `flag` is "--trace" or another of these. */
int dlb_exports_may(const char *flag, const char *path, struct dlb_err *err);

/* Writes them whole or not at all; prints errors. `code`: the exit code before rules. Returns enum
 * dlb_exit. */
int dlb_exports_write(const struct dlb_args *args, const json_t *doc, int code);

#endif
