#include "loaders/device/cuda/gpu_clock.h"

#include <math.h>

#define FAR_MS 2000.0f /* a float's steps are 0.12 us here, under the events' own 0.5 us */

void dlb_gpu_clock_anchor(struct dlb_gpu_clock *clock, uint64_t before_ns, uint64_t after_ns)
{
    uint64_t half_ns = after_ns > before_ns ? (after_ns - before_ns) / 2 : 0;
    *clock = (struct dlb_gpu_clock){.anchor_ns = before_ns + half_ns, .error_ns = half_ns};
}

static int64_t ns_of(float ms)
{
    return (int64_t)llround((double)ms * 1e6);
}

uint64_t dlb_gpu_clock_at(const struct dlb_gpu_clock *clock, float ms)
{
    return (uint64_t)((int64_t)clock->anchor_ns + ns_of(ms));
}

void dlb_gpu_clock_bound(struct dlb_gpu_clock *clock, float ms, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t at_ns = dlb_gpu_clock_at(clock, ms);
    int64_t shift_ns = 0;

    if (at_ns < from_ns)
        shift_ns = (int64_t)(from_ns - at_ns);
    else if (at_ns > to_ns)
        shift_ns = -(int64_t)(at_ns - (to_ns > from_ns ? to_ns : from_ns));
    clock->anchor_ns = (uint64_t)((int64_t)clock->anchor_ns + shift_ns);
    clock->shift_ns += shift_ns;
}

bool dlb_gpu_clock_is_far(float ms)
{
    return ms > FAR_MS;
}

void dlb_gpu_clock_move(struct dlb_gpu_clock *clock, float ms)
{
    clock->anchor_ns = dlb_gpu_clock_at(clock, ms);
}
