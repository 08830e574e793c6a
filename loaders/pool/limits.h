/* Whether what workers need is there, asked before the first one starts: a limit that is found
 * half-way shows as a crash of something else.
 *
 * Floor 3. The consumer's thread. Batch slots see to their own memory (slots.h). */
#ifndef DLB_LOADERS_POOL_LIMITS_H
#define DLB_LOADERS_POOL_LIMITS_H

#include "core/base/err.h"
#include "loaders/loader.h"

/* Memory that the workers of all the process's loaders allocate for themselves, as far as it is
 * known beforehand: of a shuffle buffer, what it holds of samples of the mean size. After the
 * slots, which then count as used. DLB_E_NOMEM. */
int dlb_limits_memory(const struct dlb_job *job, struct dlb_err *err);

/* Processes and descriptors, of one pool: DLB_E_NOMEM that names the limit, what is needed and what
 * is left. */
int dlb_limits_processes(const struct dlb_loader_opts *opts, struct dlb_err *err);

/* The same, with those of the process's loaders that start after this one; workers of those before
 * it are not there yet, either. */
int dlb_limits_job_processes(const struct dlb_job *job, struct dlb_err *err);

#endif
