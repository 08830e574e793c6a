/* Data that only the user's own Python code knows: what naming that code says of the other options.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_SPEC_OWN_CODE_H
#define DLB_SCENARIOS_SPEC_OWN_CODE_H

#include "core/base/config.h"
#include "core/base/err.h"

/* Where python.dataset or python.loader names code and no dataset.path is set, there are no other
 * data: sets dataset.format = "python" and loader.kind = "torch", each unless it was set. With a
 * path, PyTorch's cells run the code, and dlbench's own loaders read the path. For what measures a
 * configuration: verbs that take a path or write one do without. Where an interpreter loads all
 * cells, refuses python.args that no code is there for, and a GPU. `cfg`: with the groups of a
 * spec.
 */
int dlb_own_code_apply(struct dlb_config *cfg, struct dlb_err *err);

#endif
