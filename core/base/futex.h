/* Sleeping on a 32-bit word, across threads and processes that share its memory.
 *
 * Floor 0. Any thread. The words lie in shared mappings, so the private variant of the system call
 * is not used. */
#ifndef DLB_CORE_BASE_FUTEX_H
#define DLB_CORE_BASE_FUTEX_H

#include "core/base/clock.h"

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

/* A counter that one side increments and another sleeps on. Signalling makes a system call only
 * when a thread sleeps, and one for each sleep: the signal that wakes the sleepers also clears
 * the flag, so that the next signal does not wake them again while they are still waking up.
 *
 * Count and flag share one word because they must change together. With two words, a signaller
 * that has incremented the count could clear the flag of a waiter that saw the new count and
 * sleeps on it. The next signal would then wake no thread. */
struct dlb_event {
    _Atomic uint32_t word; /* signals so far, times two; plus one while a thread may sleep */
};

static inline void dlb_event_signal(struct dlb_event *event)
{
    uint32_t old = atomic_load_explicit(&event->word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&event->word, &old, (old & ~UINT32_C(1)) + 2))
        ;
    if (old & 1)
        dlb_futex_wake(&event->word);
}

/* Read before testing the condition, then hand to dlb_event_wait: a signal between the two is not
 * lost. 0 until the first signal. */
static inline uint32_t dlb_event_seq(struct dlb_event *event)
{
    return atomic_load(&event->word) & ~UINT32_C(1);
}

/* May return early: callers loop. */
static inline void dlb_event_wait(struct dlb_event *event, uint32_t seen, uint64_t deadline_ns)
{
    uint32_t old = seen;
    if (atomic_compare_exchange_strong(&event->word, &old, seen | 1) || old == (seen | 1))
        dlb_futex_wait(&event->word, seen | 1, deadline_ns);
}

#endif
