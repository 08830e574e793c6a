/* A single-producer single-consumer ring of 32-bit numbers, for slots.
 *
 * Floor 0. One thread (or process) pushes, one pops; they may be in different processes, because
 * the ring holds no pointers. It never blocks: use a struct dlb_event with it to wait. */
#ifndef DLB_CORE_BASE_RING_H
#define DLB_CORE_BASE_RING_H

#include "core/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_RING_CAP 256 /* entries; loaders/pool/pool.h says how many slots a worker has */

struct dlb_ring {
    _Alignas(64) _Atomic uint32_t head; /* next to pop; written by the consumer */
    _Alignas(64) _Atomic uint32_t tail; /* next to push; written by the producer */
    _Alignas(64) uint32_t entry[DLB_RING_CAP];
};

/* A ring has room for all slots of its owner, so a full ring is a broken invariant. */
static inline void dlb_ring_push(struct dlb_ring *ring, uint32_t value)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == DLB_RING_CAP)
        DLB_BUG("ring is full");
    ring->entry[tail % DLB_RING_CAP] = value;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

/* For the consumer: looks at the next number without popping it. */
static inline bool dlb_ring_peek(struct dlb_ring *ring, uint32_t *value)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head == atomic_load_explicit(&ring->tail, memory_order_acquire))
        return false;
    *value = ring->entry[head % DLB_RING_CAP];
    return true;
}

static inline bool dlb_ring_pop(struct dlb_ring *ring, uint32_t *value)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (!dlb_ring_peek(ring, value))
        return false;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

#endif
