/* The worker pool: slots, credits and rings between workers and the consumer.
 *
 * Floor 3. What threads and processes share: the worker's loop is dlb_pool_work, run by each of
 * them over the same mapping. The consumer's side is the rest, one thread; with pin_mode "thread"
 * one more thread copies between them.
 *
 * A worker has prefetch_factor credits. It spends one to begin a batch and gets it back when that
 * batch is *yielded* (torch's refill), and it has prefetch_factor + 1 + device.prefetch slots,
 * freed when the copy to the device is done. Credits bound what is in flight or waiting, slots
 * outlast them by what the consumer may hold: whoever holds all credits finds a slot, so nobody
 * waits in a circle. For each further device that shares the pool there are 1 + device.prefetch
 * slots more: in order shared out among the workers, in any order for each of them.
 *
 * Batch b belongs to worker b mod W and batches are delivered in that order, head-of-line blocking
 * included; a worker whose stream is exhausted leaves the rotation.
 *
 * With order "any" whatever is ready first is delivered. Map-style batches then belong to nobody
 * beforehand: as torch does with in_order=False, prefetch_factor rounds of them are dealt out, and
 * then each yielded batch brings its worker the next number. A worker that still holds
 * prefetch_factor of them is thereby passed over.
 *
 * With transport "fresh" the worker gives a slot's pages back to the kernel before it fills it, so
 * that each batch comes in memory that has never been touched.
 *
 * Wake policy: a word is tested, then slept on (futex); nobody spins, because a core that spins is
 * one that workers lack. */
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
#include "loaders/worker/worker.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Numbers that travel in a ring beside slots. */
#define DLB_POOL_END UINT32_MAX /* this worker has no more batches in this epoch */

/* One worker's place in the shared mapping. */
struct dlb_lane {
    struct dlb_ring free;        /* consumer (or pin thread) -> worker: slots */
    struct dlb_ring full;        /* worker -> consumer (or pin thread): slots, DLB_POOL_END */
    struct dlb_ring pinned_free; /* consumer -> pin thread: pinned slots */
    struct dlb_ring pinned_full; /* pin thread -> consumer: pinned slots, DLB_POOL_END */
    struct dlb_ring tasks; /* consumer -> worker: numbers of batches, DLB_POOL_END; map-style in
                              any order only */
    struct dlb_event to_worker;  /* a credit, an epoch or the end has come */
    struct dlb_event slot_freed; /* apart: a worker without credit need not wake for a slot */
    struct dlb_event to_consumer;
    _Atomic uint32_t credits;
    _Atomic int32_t pid; /* of its process, for messages; 0: a thread */
    uint32_t held;       /* 1 + a slot that the worker took and had no batch for; 0: none */
    _Alignas(64) struct dlb_worker_report report;
};

/* The head of the shared mapping; lanes follow. */
struct dlb_pool_shared {
    struct dlb_event to_pin;      /* for the pin thread: a full slot, or a free pinned one */
    struct dlb_event any_ready;   /* order "any": instead of each lane's to_consumer */
    _Atomic uint64_t epoch_begun; /* epochs begun so far: persistent workers wait for it to grow */
    _Atomic bool stop;
    _Atomic uint32_t failed;    /* 1 + the first worker that failed; 0: none */
    struct dlb_err err;         /* its error; written before `failed` is set */
    _Atomic uint32_t err_taken; /* 1 + who writes it */
};

struct dlb_pool {
    const struct dlb_job *job;
    struct dlb_sampler sampler;
    struct dlb_slots slots, pinned; /* pinned: with pin_mode "thread" only */
    struct dlb_shm shm;
    struct dlb_pool_shared *shared;
    struct dlb_lane *lanes;
    uint32_t n_workers, slots_per_worker;
    bool pin_thread, any_order, fresh, across_processes;
    struct dlb_thread pin;
    bool pin_running;
    struct dlb_hist pin_hist; /* written by the pin thread */
    /* the consumer's own */
    bool *active;   /* [n_workers] still in this epoch's rotation; owned */
    bool *told_end; /* [n_workers] knows that no batch is left; map-style in any order; owned */
    uint32_t n_active, turn;
    uint64_t n_yielded; /* in this epoch */
    uint64_t next_task; /* map-style in any order: the first batch that nobody has been given */
    uint64_t waiting_since_ns; /* with loader.timeout_s: 0: it does not wait */
    uint64_t looked_ns;        /* when workers were last looked at ... */
    uint64_t moved_ns, moved;  /* ... since when they have been where they were then, and that; 0:
                                  not looked at while waiting for this batch */
    uint64_t
        polled_ns; /* until when the batch that is still wanted has been waited for; 0: none is */
    uint64_t order_wait_ns;
    bool timed_out;
    uint64_t dismissed_ns; /* 0: not yet */
};

/* Maps everything; starts nothing. `across_processes`: memory that a fork shares. */
int dlb_pool_open(struct dlb_pool *pool, const struct dlb_job *job, bool across_processes,
                  struct dlb_err *err);
void dlb_pool_close(struct dlb_pool *pool);
void dlb_pool_memory(const struct dlb_pool *pool, struct dlb_memory *out);

/* Sets the order and lets workers that wait for it begin. The pin thread is started with the first
 * epoch. */
int dlb_pool_begin_epoch(struct dlb_pool *pool, uint64_t epoch, struct dlb_err *err);

/* As dlb_loader.next and .release. */
int dlb_pool_next(struct dlb_pool *pool, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                  struct dlb_err *err);
void dlb_pool_release(struct dlb_pool *pool, const struct dlb_batch *batch);

/* Tells everybody to leave, and keeps the time of the first call. */
void dlb_pool_dismiss(struct dlb_pool *pool);

/* The same, and joins the pin thread, for at most so long after that time. The caller joins or
 * reaps its workers. */
int dlb_pool_stop(struct dlb_pool *pool, uint64_t patience_ns, struct dlb_err *err);
void dlb_pool_stats(const struct dlb_pool *pool, struct dlb_loader_stats *out);

/* The worker's loop, in its own thread or process: one epoch (n_epochs == 1), or all of them from
 * `epoch` on until stop. An error is left in the shared mapping and wakes the consumer at once. */
void dlb_pool_work(struct dlb_pool *pool, uint32_t id, uint64_t epoch, bool persistent);

/* Records an error on a worker's behalf (one that died, say) and wakes everybody; from any thread
 * or process. The first one stands. */
void dlb_pool_fail(struct dlb_pool *pool, uint32_t id, const struct dlb_err *err);

/* Where a worker is, from any thread or process and without asking it: "at sample 17", and the
 * file that this is in, when the format can say. path is empty when it cannot. */
void dlb_pool_where(const struct dlb_pool *pool, uint32_t id, char *text, size_t n_text, char *path,
                    size_t n_path);

/* Everybody is to leave: asked for, or one has failed. */
bool dlb_pool_stopping(const struct dlb_pool *pool);

/* The pin thread's side, in loaders/pool/pin.c. */
int dlb_pool_pin_start(struct dlb_pool *pool, struct dlb_err *err);

/* Whose sleep a batch ends that is ready to be delivered. */
static inline struct dlb_event *dlb_pool_ready(struct dlb_pool *pool, struct dlb_lane *lane)
{
    if (pool->job->ready)
        return pool->job->ready;
    return pool->any_order ? &pool->shared->any_ready : &lane->to_consumer;
}

#endif
