/* Signs of life, for a watcher in another process: in memory that both have mapped.
 *
 * Floor 0. Any thread or process. */
#ifndef DLB_CORE_BASE_PULSE_H
#define DLB_CORE_BASE_PULSE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_pulse {
    _Atomic uint64_t n_batches; /* delivered */
    _Atomic uint64_t n_signs;   /* whatever else shows that there is progress */
    uint64_t stall_ns;          /* so long without either is a hang; 0: nobody minds. The watcher
                                   sets it before anybody else has the memory */
    char library[16];           /* that samples are read through, from when they are; or empty */
};

/* Whom the byte source tells of its calls while a data set is opened, which may take long and be in
 * order; NULL: nobody. Set by the control thread, with no other thread running: loading is not to
 * share a counter. */
extern struct dlb_pulse *dlb_pulse_opening;

static inline void dlb_pulse_sign(struct dlb_pulse *pulse)
{
    if (pulse)
        atomic_fetch_add_explicit(&pulse->n_signs, 1, memory_order_relaxed);
}

#endif
