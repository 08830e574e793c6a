/* The configurations that are installed with the program.
 *
 * Floor 5. Control thread; prints. */
#ifndef DLB_BENCH_CLI_INSTALLED_H
#define DLB_BENCH_CLI_INSTALLED_H

#include "core/base/config.h"
#include "core/base/err.h"

/* Loads the file `name`, or, where there is no file of this name and it has no slash, the installed
 * configuration of this name, which a note on stderr then tells. They lie in
 * ../share/dlbench/configs beside the program's folder, or, where it was built, in the sources. */
int dlb_installed_load(struct dlb_config *cfg, const char *name, struct dlb_err *err);

#endif
