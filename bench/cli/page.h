/* `dlbench VERB --help` and `dlbench help VERB`: one page, which fits a terminal of 80 x 24. It has
 * what the verb does, examples, the keys that matter most, and where the rest is.
 *
 * Floor 5. Control thread; prints. */
#ifndef DLB_BENCH_CLI_PAGE_H
#define DLB_BENCH_CLI_PAGE_H

#include "bench/cli/verb.h"

#include <stdio.h>

void dlb_page_print(FILE *out, const struct dlb_verb *verb);

#endif
