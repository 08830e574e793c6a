/* The command line that was given, to be offered again.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_CLI_AGAIN_H
#define DLB_BENCH_CLI_AGAIN_H

#include "bench/cli/verb.h"

/* The arguments after the verb, quoted for a shell, a space before each. Without those that say
 * how and under which name the result is kept and shown (--run-name, --overwrite, --json,
 * --verbose, --trace): a second command has a result of its own. The caller frees it. */
char *dlb_again(const struct dlb_args *args);

#endif
