/* The batch that a worker is filling.
 *
 * Floor 3, private to loaders/worker. The worker's thread or process. */
#ifndef DLB_LOADERS_WORKER_FILLING_H
#define DLB_LOADERS_WORKER_FILLING_H

#include "core/base/hash.h"
#include "loaders/slots.h"
#include "loaders/worker/worker.h"

#include <stddef.h>
#include <stdint.h>

/* The slot that is being filled, and how full it is. */
struct dlb_filling {
    const struct dlb_slots *slots;
    uint32_t slot;
    uint8_t *payload;
    size_t used_bytes;
    uint32_t n_samples, n_skipped;
    uint64_t made_hash;
    struct dlb_hash
        delivered;        /* of the samples when they were placed; shows if one is overwritten */
    uint64_t done_ns;     /* the last stamp: what comes next starts here */
    uint32_t n_unstamped; /* samples read since then, which share the next stamp */
};

/* Says which sample the worker is at, and since when it reads it, or the nth sample since then;
 * read when it seems stuck, and by a view. */
void dlb_filling_publish(struct dlb_worker *worker, uint64_t at, uint64_t nth, uint64_t since_ns);

/* Notes a sample that lies where the next one goes: its number, label and hash. Its bytes count as
 * used. Returns the time after it; now_ns is the time before. */
uint64_t dlb_filling_note(struct dlb_worker *worker, struct dlb_filling *fill, uint64_t index,
                          uint32_t label, size_t n_bytes, uint64_t now_ns);

/* How many short samples this worker reads at once, at most (dlb_reader.read_many); 0: it reads one
 * by one. */
uint32_t dlb_many_at_once(const struct dlb_worker *worker);

/* Reads up to n samples of the epoch, from position `first` on, to the slot. Returns how many they
 * were; after 0 this worker reads one by one. */
uint32_t dlb_many_fill(struct dlb_worker *worker, struct dlb_filling *fill, uint64_t first,
                       uint32_t n);

#endif
