/* What a process that measures shows while it runs: counters that another process reads.
 *
 * Floor 0. Each struct has one writer at a time, which never waits: plain stores, nothing locked. A
 * reader in any process looks at any time. It may see one counter before, and another after an
 * update, so it shows rates of many updates. Nothing is judged by these figures: results come from
 * the meters (core/measure/meters.h).
 *
 * Times are of the clock of dlb_now_ns, which processes share. */
#ifndef DLB_CORE_BASE_LIVE_H
#define DLB_CORE_BASE_LIVE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_LIVE_WORKERS 64 /* shown; further ones are only counted */
#define DLB_LIVE_DEVICES 64 /* whose idle time is shown; further ones are not looked at */

/* Something that begins and ends again and again. */
struct dlb_live_span {
    _Atomic uint64_t total_ns; /* of those that ended */
    _Atomic uint64_t since_ns; /* of the one that goes on; 0: none does */
};

struct dlb_live_worker {
    _Alignas(64) _Atomic uint64_t began_ns; /* 0: it has not begun */
    struct dlb_live_span blocked;           /* within a read */
    struct dlb_live_span waiting; /* its batches lie ready, or no epoch has begun. The rest of its
                                     time it is busy */
};

/* Of an accelerator: how long it computes, all steps that it was given together, and until when. So
 * a reader knows at any time how long it has computed so far, although nobody looks at the moment
 * when a step ends. */
struct dlb_live_device {
    _Alignas(64) _Atomic uint64_t began_ns; /* its first step began; 0: none has */
    _Atomic uint64_t given_ns;
    _Atomic uint64_t until_ns;
};

struct dlb_live {
    /* By the training loop. */
    _Atomic uint64_t n_samples; /* of steps that began */
    _Atomic uint64_t began_ns;  /* the last of them; 0: none has */
    _Atomic uint32_t n_devices; /* before the first step */
    struct dlb_live_device device[DLB_LIVE_DEVICES];
    /* By the control thread, before the workers start. */
    _Atomic uint32_t n_workers; /* of all loaders */
    struct dlb_live_worker worker[DLB_LIVE_WORKERS];
};

/* For the one writer of a counter: cheaper than an atomic sum. */
static inline void dlb_live_add(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t sum = atomic_load_explicit(counter, memory_order_relaxed) + n;
    atomic_store_explicit(counter, sum, memory_order_relaxed);
}

/* A step of n_samples began at now_ns. A loop without steps (gap): they were delivered. */
static inline void dlb_live_step(struct dlb_live *live, uint64_t n_samples, uint64_t now_ns)
{
    dlb_live_add(&live->n_samples, n_samples);
    atomic_store_explicit(&live->began_ns, now_ns, memory_order_release);
}

/* The device is to compute from start_ns to end_ns, which is not before what it was given so far.
 */
static inline void dlb_live_give(struct dlb_live_device *device, uint64_t start_ns, uint64_t end_ns)
{
    if (atomic_load_explicit(&device->began_ns, memory_order_relaxed) == 0)
        atomic_store_explicit(&device->began_ns, start_ns, memory_order_relaxed);
    dlb_live_add(&device->given_ns, end_ns - start_ns);
    atomic_store_explicit(&device->until_ns, end_ns, memory_order_release);
}

/* How long it has computed up to now_ns. */
static inline uint64_t dlb_live_busy(const struct dlb_live_device *device, uint64_t now_ns)
{
    uint64_t until_ns = atomic_load_explicit(&device->until_ns, memory_order_acquire);
    uint64_t given_ns = atomic_load_explicit(&device->given_ns, memory_order_relaxed);
    uint64_t ahead_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    return given_ns > ahead_ns ? given_ns - ahead_ns : 0;
}

/* No effect on one that goes on; 0 takes it back. */
static inline void dlb_live_begin(struct dlb_live_span *span, uint64_t now_ns)
{
    if (now_ns == 0 || atomic_load_explicit(&span->since_ns, memory_order_relaxed) == 0)
        atomic_store_explicit(&span->since_ns, now_ns, memory_order_relaxed);
}

/* The one that goes on, or one that was not begun, took ns. The sum is released after the end, so
 * that a reader that loads since_ns last never counts it twice. */
static inline void dlb_live_end(struct dlb_live_span *span, uint64_t ns)
{
    atomic_store_explicit(&span->since_ns, 0, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(&span->total_ns, memory_order_relaxed) + ns;
    atomic_store_explicit(&span->total_ns, sum, memory_order_release);
}

/* All of it up to now_ns. */
static inline uint64_t dlb_live_until(const struct dlb_live_span *span, uint64_t now_ns)
{
    uint64_t total_ns = atomic_load_explicit(&span->total_ns, memory_order_acquire);
    uint64_t since_ns = atomic_load_explicit(&span->since_ns, memory_order_relaxed);
    return total_ns + (since_ns > 0 && now_ns > since_ns ? now_ns - since_ns : 0);
}

/* The place of a worker, by its number among those of all loaders; NULL: it has none. */
static inline struct dlb_live_worker *dlb_live_worker(struct dlb_live *live, uint32_t number)
{
    return live && number < DLB_LIVE_WORKERS ? &live->worker[number] : NULL;
}

#endif
