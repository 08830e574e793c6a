/* Sleeping on a 32-bit word, across threads and processes that share its memory.
 *
 * Floor 0. Any thread. The words lie in shared mappings, so the private variant of the system call
 * is not used. */
#ifndef DLB_BASE_FUTEX_H
#define DLB_BASE_FUTEX_H

#include "bench/base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sleeps while *word == expected, until woken or until the clock reads deadline_ns (UINT64_MAX: no
 * deadline). May return early: callers loop. */
static inline void dlb_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
    struct timespec until = dlb_timespec(deadline_ns);
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected,
                  deadline_ns == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static inline void dlb_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A word that one side bumps and another sleeps on, with a system call only when somebody sleeps,
 * and one for each sleep: who wakes the sleepers also says that they are woken, so that the next
 * signal does not wake them again while they are still getting up. */
struct dlb_event {
    _Atomic uint32_t seq;
    _Atomic uint32_t sleeping; /* somebody may sleep on seq */
};

static inline void dlb_event_signal(struct dlb_event *event)
{
    atomic_fetch_add(&event->seq, 1);
    if (atomic_load(&event->sleeping) != 0 && atomic_exchange(&event->sleeping, 0) != 0)
        dlb_futex_wake(&event->seq);
}

/* Read before testing the condition, then hand to dlb_event_wait: a signal between the two is not
 * lost. */
static inline uint32_t dlb_event_seq(struct dlb_event *event)
{
    return atomic_load(&event->seq);
}

/* May return early: callers loop. */
static inline void dlb_event_wait(struct dlb_event *event, uint32_t seen, uint64_t deadline_ns)
{
    atomic_store(&event->sleeping, 1);
    if (atomic_load(&event->seq) == seen)
        dlb_futex_wait(&event->seq, seen, deadline_ns);
}

#endif
