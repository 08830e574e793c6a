/* The configurations that are installed with the program.
 *
 * Floor 5. Control thread; prints. */
#ifndef DLB_BENCH_CLI_INSTALLED_H
#define DLB_BENCH_CLI_INSTALLED_H

#include "core/base/config.h"
#include "core/base/err.h"

/* Loads the file `name`. If there is none, and the name has no slash, loads the installed
 * configuration of that name, and says so on stderr. These lie in ../share/dlbench/configs, seen
 * from the program's folder; where the program was built, in configs of the sources. */
int dlb_installed_load(struct dlb_config *cfg, const char *name, struct dlb_err *err);

#endif
