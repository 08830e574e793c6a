/* What `dlbench inspect` prints of a data set.
 *
 * Floor 5. Control thread; prints on stdout. */
#ifndef DLB_BENCH_VERBS_INSPECT_TEXT_H
#define DLB_BENCH_VERBS_INSPECT_TEXT_H

#include "bench/verbs/inspect.h"

void dlb_inspect_print(const char *path, const struct dlb_inspected *in);

/* The command that measures it, for a shell. */
void dlb_inspect_print_command(const char *path, const struct dlb_inspected *in);

/* Where a folder holds several kinds of data: a command for each. */
void dlb_inspect_print_kinds(const char *path, const struct dlb_inspected *in);

#endif
