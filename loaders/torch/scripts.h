/* What an interpreter runs.
 *
 * Floor 3. Constant; any thread. */
#ifndef DLB_LOADERS_TORCH_SCRIPTS_H
#define DLB_LOADERS_TORCH_SCRIPTS_H

#include "core/base/embedded.h"

extern const struct dlb_embedded dlb_torch_scripts[]; /* the first one is run */

#endif
