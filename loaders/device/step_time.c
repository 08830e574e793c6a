#include "loaders/device/step_time.h"

#include <math.h>

/* A duration cannot be negative. So negative draws count as 0, which moves the mean by under 0.1%
 * for stdev <= mean / 3. */
uint64_t dlb_step_draw_ns(const struct dlb_device_opts *opts, struct dlb_rng *rng)
{
    double mean_ns = opts->step_ms * 1e6, stdev_ns = opts->step_stdev_ms * 1e6, ns = mean_ns;
    if (opts->step_dist == DLB_STEP_NORMAL) {
        ns += stdev_ns * dlb_rng_normal(rng);
    } else if (opts->step_dist == DLB_STEP_LOGNORMAL && mean_ns > 0) {
        double ratio = stdev_ns / mean_ns;
        double var = log1p(ratio * ratio);
        ns = exp(log(mean_ns) - var / 2 + sqrt(var) * dlb_rng_normal(rng));
    }
    return ns > 0 ? (uint64_t)ns : 0;
}
