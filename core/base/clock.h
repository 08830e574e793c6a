/* The one clock.
 *
 * Floor 0. Any thread. CLOCK_MONOTONIC in nanoseconds: the same in every process of one boot, so
 * that stamps of workers, consumer and emulated device can be compared. */
#ifndef DLB_CORE_BASE_CLOCK_H
#define DLB_CORE_BASE_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define DLB_NS_PER_S UINT64_C(1000000000)
#define DLB_NS_PER_MS UINT64_C(1000000)
#define DLB_NS_PER_US UINT64_C(1000)

static inline uint64_t dlb_now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline struct timespec dlb_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / DLB_NS_PER_S),
                             .tv_nsec = (long)(ns % DLB_NS_PER_S)};
}

/* Sleeps until the clock reads at least `deadline_ns`, also when signals interrupt the sleep;
 * returns the time then. */
static inline uint64_t dlb_sleep_until_ns(uint64_t deadline_ns)
{
    struct timespec until = dlb_timespec(deadline_ns);
    while (dlb_now_ns() < deadline_ns)
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return dlb_now_ns();
}

#endif
