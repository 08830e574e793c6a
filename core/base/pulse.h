/* Signs of life that a process gives to a watcher in another process, through memory that both
 * map.
 *
 * Floor 0. Any thread or process. */
#ifndef DLB_CORE_BASE_PULSE_H
#define DLB_CORE_BASE_PULSE_H

#include "core/base/live.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_pulse {
    _Atomic uint64_t n_batches; /* delivered */
    _Atomic uint64_t n_signs;   /* incremented at every other sign of progress */
    uint64_t stall_ns; /* so long without any sign is a hang; 0 disables the check. The watcher sets
                          it before it shares the memory */
    pid_t pid;         /* of the process; set by the watcher */
    char library[16];  /* through which samples are read, once they are; or empty */
    struct dlb_live live; /* what a view of the running process shows */
};

/* scenarios/run/dlbench_child.py writes these of a cell that Python measures. */
_Static_assert(offsetof(struct dlb_pulse, n_batches) == 0, "dlbench_child.py: BATCHES");
_Static_assert(offsetof(struct dlb_pulse, live.n_samples) == 64, "dlbench_child.py: SAMPLES");
_Static_assert(offsetof(struct dlb_pulse, live.began_ns) == 72, "dlbench_child.py: SAMPLES");

/* The pulse that the byte source signals on each call while a data set is opened, because
 * opening may rightly take long; NULL: none. Set by the control thread while no other thread
 * runs. It is not set while samples load, so that threads do not share a counter. */
extern struct dlb_pulse *dlb_pulse_opening;

static inline void dlb_pulse_sign(struct dlb_pulse *pulse)
{
    if (pulse)
        atomic_fetch_add_explicit(&pulse->n_signs, 1, memory_order_relaxed);
}

#endif
