/* The worker pool: threads or processes that fill batch slots for one consumer.
 *
 * Floor 3. Three sides use a pool, each in a file of its own:
 *   workers     work.c     dlb_pool_work: the loop that every thread or process runs
 *   pin thread  pin.c      copies batches to pinned slots; with pin_mode "thread" only
 *   consumer    deliver.c  hands batches out and takes slots back; one thread
 * pool.c opens, dismisses and closes a pool. All sides read struct dlb_pool_common; each of the
 * other groups in struct dlb_pool belongs to one side. Whatever changes hands lies in shared memory
 * (struct dlb_lane, struct dlb_pool_shared), so that threads and processes work alike.
 *
 * Credits and slots. A worker has prefetch_factor credits. It spends one when it begins a batch and
 * gets it back when that batch is yielded, as in torch's DataLoader. It has prefetch_factor + 1 +
 * device.prefetch slots; a slot is free again when its copy to the device has ended. Credits bound
 * the batches that are being loaded or wait, and the consumer holds 1 + device.prefetch slots at
 * most. So a worker that holds a credit always finds a free slot, and there is no deadlock. Each
 * further device that shares the pool adds 1 + device.prefetch slots: divided among the workers in
 * order, or for every worker with order "any", where one worker may have loaded them all.
 *
 * Order. Batch b belongs to worker b mod W, and batches are delivered in that order, head-of-line
 * blocking included. A worker whose stream is exhausted leaves the rotation. With order "any" the
 * batch that was ready first is delivered first. Map-style batches then have no fixed worker: the
 * consumer deals out prefetch_factor rounds of batch numbers, and each batch that it yields brings
 * that batch's worker the next number (torch's in_order=False). A worker that still holds
 * prefetch_factor numbers gets none.
 *
 * Fresh memory. With transport "fresh" a worker gives a slot's pages back to the kernel before it
 * fills the slot, so that each batch arrives in memory that was never touched.
 *
 * Waiting. A side tests a word, then sleeps on it (futex). Nothing spins: a spinning thread would
 * take a core from the workers. */
#ifndef DLB_LOADERS_POOL_POOL_H
#define DLB_LOADERS_POOL_POOL_H

#include "core/base/err.h"
#include "core/base/futex.h"
#include "core/base/ring.h"
#include "core/base/shm.h"
#include "loaders/loader.h"
#include "loaders/pool/join.h"
#include "loaders/sampler.h"
#include "loaders/slots.h"
#include "loaders/worker/report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In a ring, instead of a slot or a batch number: this worker has no more batches in this epoch. */
#define DLB_POOL_END UINT32_MAX

/* One worker's place in the shared memory. */
struct dlb_lane {
    struct dlb_ring free;        /* consumer (or pin thread) -> worker: slots */
    struct dlb_ring full;        /* worker -> consumer (or pin thread): slots, DLB_POOL_END */
    struct dlb_ring pinned_free; /* consumer -> pin thread: pinned slots */
    struct dlb_ring pinned_full; /* pin thread -> consumer: pinned slots, DLB_POOL_END */
    struct dlb_ring tasks; /* consumer -> worker: batch numbers, DLB_POOL_END; map-style with order
                              "any" only */
    struct dlb_event to_worker;  /* signalled with a credit, with an epoch, and at the end */
    struct dlb_event slot_freed; /* separate from to_worker, so that a worker waiting for a credit
                                    is not woken */
    struct dlb_event to_consumer;
    _Atomic uint32_t credits;
    _Atomic int32_t pid; /* the worker's process, for messages; 0: a thread */
    uint32_t held;       /* 1 + a slot that the worker took and did not fill; 0: none */
    _Alignas(64) struct dlb_worker_report report;
};

/* The head of the shared memory; the lanes follow it. */
struct dlb_pool_shared {
    struct dlb_event to_pin;      /* signalled with a full slot, and with a free pinned one */
    struct dlb_event any_ready;   /* order "any": takes the place of each lane's to_consumer */
    _Atomic uint64_t epoch_begun; /* epochs begun so far; persistent workers wait for the next */
    _Atomic bool stop;
    _Atomic bool measuring;     /* the consumer's window is open */
    _Atomic uint32_t failed;    /* 1 + the first worker that failed; 0: none */
    struct dlb_err err;         /* that worker's error; written before `failed` is set */
    _Atomic uint32_t err_taken; /* 1 + the worker whose error is written to err */
};

/* What all sides use. Set by dlb_pool_open and constant from then on, but for the sampler's epoch,
 * which is written before epoch_begun; in worker processes a copy, made by the fork. */
struct dlb_pool_common {
    const struct dlb_job *job; /* borrowed */
    struct dlb_sampler sampler;
    struct dlb_slots slots;
    struct dlb_slots pinned; /* with pin_thread only */
    struct dlb_shm shm;      /* shared and lanes */
    struct dlb_pool_shared *shared;
    struct dlb_lane *lanes; /* [n_workers] */
    uint32_t n_workers, slots_per_worker;
    bool pin_thread, any_order, fresh, across_processes;
};

/* The pin thread's own. */
struct dlb_pool_pin {
    struct dlb_pool_common *common;
    struct dlb_thread thread;
    struct dlb_hist hist[2]; /* of its copies: outside of the window, within it */
    struct dlb_trace_ring *trace;
    bool running; /* the consumer's: the thread was started and not joined */
};

/* The consumer's own: whose batch comes next. */
struct dlb_pool_rotation {
    bool *active;   /* [n_workers] still in this epoch's rotation; owned */
    bool *told_end; /* [n_workers] was dealt DLB_POOL_END; map-style with order "any"; owned */
    uint32_t n_active, turn;
    uint64_t n_yielded; /* batches delivered in this epoch */
    uint64_t next_task; /* map-style with order "any": the first batch that was not dealt out */
};

/* The consumer's own: head-of-line blocking. */
struct dlb_pool_order_wait {
    uint64_t from_ns; /* wait already counted up to this time; 0: the wait has not begun */
    uint64_t total_ns;
};

/* The consumer's own: how long it has waited, and whether workers still make progress. */
struct dlb_pool_watch {
    uint64_t waiting_since_ns; /* for loader.timeout_s; 0: not waiting */
    uint64_t looked_ns;        /* the last look at the workers' progress */
    uint64_t progress;         /* what that look found: a sum that changes with every sample */
    uint64_t progress_ns;      /* when it last changed; 0: no look yet for this batch */
    bool timed_out;
};

struct dlb_pool {
    struct dlb_pool_common common;
    _Alignas(64) struct dlb_pool_pin pin;
    _Alignas(64) struct dlb_pool_rotation rotation;
    struct dlb_pool_order_wait order_wait;
    struct dlb_pool_watch watch;
    uint64_t dismissed_ns; /* when workers were told to leave; 0: not yet */
};

/* Opening and closing: the consumer's thread. */

/* Maps all memory and starts nothing. `across_processes`: in memory that a fork shares. After a
 * failure dlb_pool_close is still to be called. DLB_E_CONFIG, DLB_E_NOMEM. */
int dlb_pool_open(struct dlb_pool *pool, const struct dlb_job *job, bool across_processes,
                  struct dlb_err *err);
void dlb_pool_close(struct dlb_pool *pool);

/* The memory that batches are delivered in. */
void dlb_pool_memory(const struct dlb_pool_common *common, struct dlb_memory *out);

/* Tells workers and pin thread to leave, and returns at once. Later calls have no effect. */
void dlb_pool_dismiss(struct dlb_pool *pool);

/* Dismisses, and joins the pin thread within patience_ns of the dismissal. The caller joins or
 * reaps its workers. DLB_E_WORKER when the thread does not end. */
int dlb_pool_stop(struct dlb_pool *pool, uint64_t patience_ns, struct dlb_err *err);

/* Adds what the pool measured; after dlb_pool_stop. */
void dlb_pool_stats(const struct dlb_pool *pool, struct dlb_loader_stats *out);

/* The consumer's side: one thread. */

/* Sets the epoch's order and lets the workers that wait for it begin. The first call starts the pin
 * thread. */
int dlb_pool_begin_epoch(struct dlb_pool *pool, uint64_t epoch, struct dlb_err *err);

/* As dlb_loader.measure, .next and .release. */
void dlb_pool_measure(struct dlb_pool_common *common, bool opens);

int dlb_pool_next(struct dlb_pool *pool, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                  struct dlb_err *err);
void dlb_pool_release(struct dlb_pool_common *common, const struct dlb_batch *batch);

/* The workers' side. */

/* The worker's loop, called in its own thread or process. It runs one epoch, or, if persistent,
 * all epochs from `epoch` on until it must stop. An error is left in the shared memory and wakes
 * the consumer at once. */
void dlb_pool_work(struct dlb_pool_common *common, uint32_t id, uint64_t epoch, bool persistent);

/* The pin thread's side. */

/* Starts the thread, once, if the pool has one. */
int dlb_pool_pin_start(struct dlb_pool_pin *pin, struct dlb_pool_common *common,
                       struct dlb_err *err);

/* Any thread or process. */

/* Records the error of worker `id` (also one that died) and wakes all sides. The first error of a
 * pool is kept; later ones are dropped. */
void dlb_pool_fail(struct dlb_pool_common *common, uint32_t id, const struct dlb_err *err);

/* Where a worker is, without asking it: "at sample 17", and in `path` the file of that sample.
 * `path` is empty when the format cannot tell. */
void dlb_pool_where(const struct dlb_pool_common *common, uint32_t id, char *text, size_t n_text,
                    char *path, size_t n_path);

/* True when all sides are to leave: they were dismissed, or a worker failed. */
bool dlb_pool_stopping(const struct dlb_pool_common *common);

/* The event to signal for a batch that can be delivered. */
static inline struct dlb_event *dlb_pool_ready(struct dlb_pool_common *common,
                                               struct dlb_lane *lane)
{
    if (common->job->ready)
        return common->job->ready;
    return common->any_order ? &common->shared->any_ready : &lane->to_consumer;
}

#endif
