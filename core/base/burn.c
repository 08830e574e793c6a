#include "core/base/burn.h"

#include "core/base/clock.h"

#include <time.h>

uint64_t dlb_thread_cpu_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* No CPU time passes faster than the wall clock, which is cheap to read: the CPU clock, a system
 * call, is only asked when as much wall time as is lacking has passed. So it is asked once if the
 * thread is not interrupted, and once more for each time that it is. */
uint64_t dlb_burn(uint64_t start_cpu_ns, uint64_t burn_ns, bool (*stop)(const void *of),
                  const void *of)
{
    uint64_t now_ns = dlb_now_ns(), done_ns = 0;

    while (done_ns < burn_ns && !stop(of)) {
        uint64_t until_ns = now_ns + (burn_ns - done_ns);
        while (now_ns < until_ns && !stop(of))
            now_ns = dlb_now_ns();
        done_ns = dlb_thread_cpu_ns() - start_cpu_ns;
    }
    return dlb_now_ns();
}
