/* Checks that the machine has what workers need, before the first one starts. A limit that is hit
 * later would look like a crash of something else.
 *
 * Floor 3. The consumer's thread. Batch slots check their own memory (slots.h). */
#ifndef DLB_LOADERS_POOL_LIMITS_H
#define DLB_LOADERS_POOL_LIMITS_H

#include "core/base/err.h"
#include "loaders/loader.h"

/* Memory that the workers of all loaders of this process allocate for themselves, as far as it can
 * be known: worker_init_mb, and shuffle buffers full of samples of the mean size. Call it after the
 * slots were mapped, so that they count as used. DLB_E_NOMEM. */
int dlb_limits_memory(const struct dlb_job *job, struct dlb_err *err);

/* Processes and descriptors for the workers of one pool. DLB_E_NOMEM, with the limit's name, what
 * is needed and what is left. */
int dlb_limits_processes(const struct dlb_loader_opts *opts, struct dlb_err *err);

/* The same for all loaders of this process. Called while the loaders start one after the other:
 * fork servers of earlier loaders exist and are not counted, no workers exist yet. */
int dlb_limits_job_processes(const struct dlb_job *job, struct dlb_err *err);

#endif
