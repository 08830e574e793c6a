/* Files that are compiled into the program, for scenarios.
 *
 * Floor 4. Constant; any thread. */
#ifndef DLB_SCENARIOS_SPEC_EMBEDDED_H
#define DLB_SCENARIOS_SPEC_EMBEDDED_H

#include "core/base/embedded.h"

/* PyTorch's rungs; the first file is the script that runs. */
extern const struct dlb_embedded dlb_gap_scripts[];
/* configs/workloads, by name. */
extern const struct dlb_embedded dlb_workload_texts[];

#endif
