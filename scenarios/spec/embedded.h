/* Files that are in the program (cmake/embed.cmake).
 *
 * Floor 4. Constant; any thread. Tables end with name == NULL. */
#ifndef DLB_SCENARIOS_SPEC_EMBEDDED_H
#define DLB_SCENARIOS_SPEC_EMBEDDED_H

#include <stddef.h>

struct dlb_embedded {
    const char *name; /* of the file; without ".toml" */
    const char *bytes;
    size_t n_bytes;
};

/* PyTorch's rungs; the first one is what is run. */
extern const struct dlb_embedded dlb_gap_scripts[];
/* configs/workloads, by name. */
extern const struct dlb_embedded dlb_workload_texts[];

#endif
