/* Planted costs: known delays and memory, for demonstrations and tests.
 *
 * Floor 3. One worker's own; its thread or process. A planted delay ends early when the worker is
 * told to stop. */
#ifndef DLB_LOADERS_WORKER_PLANT_H
#define DLB_LOADERS_WORKER_PLANT_H

#include "core/base/err.h"
#include "loaders/worker/setup.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_plant {
    const struct dlb_worker_setup *setup;
    uint64_t asked_ns, slept_ns;     /* sample_sleep_us so far: asked for, and slept */
    uint64_t asked_cpu_ns, burnt_ns; /* sample_spin_us so far: asked for, and CPU time used */
    void *memory;                    /* worker_init_mb; owned */
    size_t n_bytes;
};

/* Acts as a data set that is expensive to construct. It touches worker_init_mb of memory, which is
 * kept until dlb_plant_close, and computes until it has had worker_init_ms of CPU time, the
 * touching included. Each worker that starts pays this; it is metered as init. DLB_E_NOMEM. */
int dlb_plant_open(struct dlb_plant *plant, const struct dlb_worker_setup *setup,
                   struct dlb_err *err);
void dlb_plant_close(struct dlb_plant *plant);

/* Sleeps for sample_sleep_us, which counts as reading. If one sleep took too long, the next ones
 * are shorter: a batch takes as long as was asked, however coarse the timer is. Returns the time
 * after it. */
uint64_t dlb_plant_sleep(struct dlb_plant *plant, uint64_t now_ns);

/* Uses sample_spin_us of the thread's CPU time, which counts as transforming: threads that share a
 * core take as much longer. What one spin used too much, the next ones use less. Returns the time
 * after it. */
uint64_t dlb_plant_spin(struct dlb_plant *plant, uint64_t now_ns);

#endif
