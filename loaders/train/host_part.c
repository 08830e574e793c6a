#include "loaders/train/host_part.h"

#include "core/base/burn.h"

#include <math.h>
#include <stdatomic.h>

#define SLICE_NS 1e6 /* between looks at copies that hold a slot */

static bool is_cancelled(const void *of)
{
    const struct dlb_consume *how = of;
    return how->cancel && atomic_load_explicit(how->cancel, memory_order_relaxed);
}

bool dlb_host_slice(const struct dlb_consume *how, bool held, double *left_ns)
{
    uint64_t start_cpu_ns = dlb_thread_cpu_ns();
    double slice_ns = held ? fmin(*left_ns, SLICE_NS) : *left_ns;

    if (*left_ns <= 0 || is_cancelled(how))
        return false;
    (void)dlb_burn(start_cpu_ns, (uint64_t)ceil(slice_ns), is_cancelled, how);
    *left_ns -= (double)(dlb_thread_cpu_ns() - start_cpu_ns);
    return *left_ns > 0;
}
