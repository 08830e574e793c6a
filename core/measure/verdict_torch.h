/* The verdict's sentences on what PyTorch's workers did.
 *
 * Floor 1, private to core/measure. Pure functions, any thread. */
#ifndef DLB_CORE_MEASURE_VERDICT_TORCH_H
#define DLB_CORE_MEASURE_VERDICT_TORCH_H

#include "core/measure/verdict_say.h"

/* What they spent the time in, as far as time stamps tell. */
void dlb_say_torch_stage(struct words *w, const struct dlb_evidence *e,
                         const struct dlb_finding *f);

/* Of transport as the cause: what it takes, and what to try. */
void dlb_say_torch_transport(struct words *w, const struct dlb_evidence *e);

/* How to make a stage cheaper. Static. */
const char *dlb_cheaper_in_torch(const struct dlb_evidence *e, int stage);

#endif
