/* Whether what workers need is there, asked before the first one starts: a limit that is found
 * half-way shows as a crash of something else.
 *
 * Floor 3. The consumer's thread. Batch slots see to their own memory (slots.h). */
#ifndef DLB_LOADERS_LIMITS_H
#define DLB_LOADERS_LIMITS_H

#include "bench/base/err.h"
#include "loaders/loader.h"

/* Memory that workers allocate for themselves, as far as it is known beforehand. After the slots,
 * which then count as used. DLB_E_NOMEM. */
int dlb_limits_memory(const struct dlb_loader_opts *opts, struct dlb_err *err);

/* Processes and descriptors: DLB_E_NOMEM that names the limit, what is
 * needed and what is left. */
int dlb_limits_processes(const struct dlb_loader_opts *opts, struct dlb_err *err);

#endif
