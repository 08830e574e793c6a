#include "loaders/device/cuda/gpu_clock.h"

#include "core/base/clock.h"

#include <math.h>

/* The rate is known to the brackets' width over the time between them: 10 us in a second are 1e-5.
 * Of less time it would be a guess. */
#define RATE_NS (0.9 * DLB_NS_PER_S)
#define RATE_ERROR 2e-5
#define NARROW UINT64_C(2) /* times the first bracket's width */

void dlb_gpu_clock_anchor(struct dlb_gpu_clock *clock, uint64_t before_ns, uint64_t after_ns)
{
    uint64_t half_ns = after_ns > before_ns ? (after_ns - before_ns) / 2 : 0;
    *clock = (struct dlb_gpu_clock){.anchor_ns = before_ns + half_ns,
                                    .first_ns = before_ns + half_ns,
                                    .error_ns = half_ns,
                                    .rate = 1};
}

uint64_t dlb_gpu_clock_at(const struct dlb_gpu_clock *clock, float ms)
{
    return (uint64_t)((int64_t)clock->anchor_ns + llround((double)ms * 1e6 * clock->rate));
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
}

bool dlb_gpu_clock_is_narrow(const struct dlb_gpu_clock *clock, uint64_t before_ns,
                             uint64_t after_ns)
{
    return after_ns - before_ns <= 2 * NARROW * clock->error_ns;
}

void dlb_gpu_clock_bracket(struct dlb_gpu_clock *clock, float ms, uint64_t before_ns,
                           uint64_t after_ns)
{
    uint64_t middle_ns = before_ns + (after_ns - before_ns) / 2;
    double gpu_ns = clock->gpu_ns + (double)ms * 1e6;

    uint64_t width_ns = after_ns - before_ns;
    if (clock->n_brackets == 0 || width_ns < clock->narrowest_ns)
        clock->narrowest_ns = width_ns;
    bool sets =
        dlb_gpu_clock_is_narrow(clock, before_ns, after_ns) ||
        (width_ns <= NARROW * clock->narrowest_ns && (double)width_ns <= RATE_ERROR * gpu_ns);
    clock->n_brackets++;
    clock->n_narrow += sets;
    if (!sets) {
        dlb_gpu_clock_bound(clock, ms, before_ns, after_ns);
        return;
    }
    if (gpu_ns > RATE_NS)
        clock->rate = (double)(middle_ns - clock->first_ns) / gpu_ns;
    dlb_gpu_clock_bound(clock, ms, middle_ns, middle_ns);
}

void dlb_gpu_clock_move(struct dlb_gpu_clock *clock, float ms)
{
    clock->anchor_ns = dlb_gpu_clock_at(clock, ms);
    clock->gpu_ns += (double)ms * 1e6;
}

int64_t dlb_gpu_clock_shift_ns(const struct dlb_gpu_clock *clock)
{
    return (int64_t)(clock->anchor_ns - clock->first_ns) - llround(clock->gpu_ns);
}
