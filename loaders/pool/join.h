/* Joining a thread with a deadline on CLOCK_MONOTONIC.
 *
 * Floor 3. pthread_timedjoin_np waits on the wall clock, which may jump. So the thread signals an
 * event at its end, and the joining thread waits for that. */
#ifndef DLB_LOADERS_POOL_JOIN_H
#define DLB_LOADERS_POOL_JOIN_H

#include "core/base/clock.h"
#include "core/base/futex.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct dlb_thread {
    pthread_t handle;
    struct dlb_event done;
};

/* Called by the thread as the last thing that its function does. */
static inline void dlb_thread_done(struct dlb_thread *thread)
{
    dlb_event_signal(&thread->done);
}

/* The reason for a code of dlb_thread_join, for messages. */
static inline const char *dlb_thread_why(int code)
{
    return code == ETIMEDOUT ? "it is stuck (storage that does not answer?)" : strerror(code);
}

/* 0, an errno of pthread_join, or ETIMEDOUT: then the thread still runs. */
static inline int dlb_thread_join(struct dlb_thread *thread, uint64_t deadline_ns)
{
    while (dlb_event_seq(&thread->done) == 0) {
        if (dlb_now_ns() >= deadline_ns)
            return ETIMEDOUT;
        dlb_event_wait(&thread->done, 0, deadline_ns);
    }
    return pthread_join(thread->handle, NULL);
}

#endif
