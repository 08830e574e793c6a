/* Planted costs: known delays for demonstrations and tests.
 *
 * Floor 3. The worker's own thread or process. They end early when it is told to stop. */
#ifndef DLB_LOADERS_WORKER_PLANT_H
#define DLB_LOADERS_WORKER_PLANT_H

#include "core/base/err.h"
#include "loaders/worker/worker.h"

#include <stdint.h>

/* A data set that is expensive to construct, paid by each worker that starts and metered as init:
 * memory that is the worker's own and touched (worker_init_mb, kept until dlb_plant_free), and
 * computing until worker_init_ms have passed, the touching included. DLB_E_NOMEM. */
int dlb_plant_init(struct dlb_worker *worker, struct dlb_err *err);
void dlb_plant_free(struct dlb_worker *worker);

/* sample_sleep_us: waiting, counted as reading. What one sleep took too long the next ones make up
 * for, so that a batch waits as long as was asked however coarse the timer is. Returns the time
 * after it. */
uint64_t dlb_plant_sleep(struct dlb_worker *worker, uint64_t now_ns);

/* sample_spin_us: computing, counted as transforming. Returns the time after it. */
uint64_t dlb_plant_spin(const struct dlb_worker *worker, uint64_t now_ns);

#endif
