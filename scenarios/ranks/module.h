/* The module of MPI that fits a launcher: dlbench-mpi-NAME.so, in ../lib/dlbench seen from the
 * program's folder, or beside the program where it was built.
 *
 * Floor 4. Control thread of the speaker. */
#ifndef DLB_SCENARIOS_RANKS_MODULE_H
#define DLB_SCENARIOS_RANKS_MODULE_H

#include "core/base/err.h"
#include "scenarios/ranks/launcher.h"
#include "scenarios/ranks/ranks.h"

/* Never closed: MPI's own plugins look for its symbols. NULL and DLB_ERR_RANKS_NO_MODULE. */
const struct dlb_ranks *dlb_ranks_load(const struct dlb_launcher *launcher, struct dlb_err *err);

#endif
