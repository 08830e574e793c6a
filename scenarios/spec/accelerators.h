/* How many accelerators one process drives: the `accelerators` section.
 *
 * Floor 4. Plain values; any thread. */
#ifndef DLB_SCENARIOS_SPEC_ACCELERATORS_H
#define DLB_SCENARIOS_SPEC_ACCELERATORS_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_MAX_ACCELERATORS 1024

struct dlb_accelerators_opts {
    int64_t count;
    bool barrier;        /* step k + 1 starts on none of them before step k has ended on all */
    bool shared_workers; /* one loader for all; else one with loader.num_workers for each */
};
extern const struct dlb_opt_group dlb_accelerators_group;

/* Loaders that a process starts for them. */
static inline uint32_t dlb_accelerators_loaders(const struct dlb_accelerators_opts *opts)
{
    return opts->shared_workers ? 1 : (uint32_t)opts->count;
}

#endif
