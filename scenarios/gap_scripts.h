/* The files of the PyTorch rungs, as the build put them into the program.
 *
 * Floor 4. Constants. */
#ifndef DLB_SCENARIOS_GAP_SCRIPTS_H
#define DLB_SCENARIOS_GAP_SCRIPTS_H

#include <stddef.h>

struct dlb_gap_script {
    const char *name; /* "gap_torch.py"; the first one is what is run */
    const unsigned char *bytes;
    size_t n_bytes;
};
extern const struct dlb_gap_script dlb_gap_scripts[]; /* ends with name == NULL */

#endif
