/* Slots: the memory of batches, from a worker's first byte to the end of the copy to the device.
 *
 * Floor 3. Created on the consumer's thread before workers exist. Only the side that holds a slot's
 * number writes to the slot; numbers change hands through rings. The mapping holds no pointers,
 * because processes may share it.
 *
 * Payloads are page aligned and lie together, so that one call pins them all. The bookkeeping of
 * each batch (which samples, where they start) lies apart. */
#ifndef DLB_LOADERS_SLOTS_H
#define DLB_LOADERS_SLOTS_H

#include "core/base/err.h"
#include "core/base/shm.h"
#include "loaders/loader.h"

#include <stdbool.h>
#include <stdint.h>

/* Head of a slot's bookkeeping. The arrays index, offset, label and hash follow it, with batch_size
 * entries each. */
struct dlb_slot {
    uint64_t n_bytes;
    uint64_t payload_hash; /* of all n_bytes; with checksums only */
    uint64_t made_hash;    /* see dlb_batch */
    uint64_t ready_ns;     /* when the worker pushed it */
    uint64_t number;       /* see dlb_batch */
    uint64_t epoch;        /* the worker's */
    uint32_t n_samples, n_skipped;
};

struct dlb_slots {
    struct dlb_shm payload, book;
    bool across_processes;
    uint32_t n_slots, batch_size;
    size_t payload_bytes; /* of one slot */
    size_t book_bytes;    /* of one slot */
};

/* What the slots of one loader take, before they are mapped. */
struct dlb_slots_size {
    uint32_t n_each;          /* of a worker, or of a loader without workers */
    uint64_t n_slots;         /* of all workers; those that a pin thread copies from count, too */
    uint64_t all_bytes;       /* UINT64_MAX: beyond 64 bits */
    uint64_t delivered_bytes; /* of those that batches are delivered in: the memory to pin */
};

/* n_others: devices that share the loader, beside the first. Pure. */
struct dlb_slots_size dlb_slots_size(const struct dlb_loader_opts *opts, uint32_t device_prefetch,
                                     uint32_t n_others, uint64_t max_sample_bytes);

/* DLB_E_NOMEM, with the sizes, when the slots exceed the available memory. */
int dlb_slots_open(struct dlb_slots *slots, uint32_t n_slots, uint32_t batch_size,
                   uint64_t max_sample_bytes, bool across_processes, struct dlb_err *err);
void dlb_slots_close(struct dlb_slots *slots);

static inline uint8_t *dlb_slot_payload(const struct dlb_slots *slots, uint32_t slot)
{
    return (uint8_t *)slots->payload.addr + (size_t)slot * slots->payload_bytes;
}

static inline struct dlb_slot *dlb_slot_head(const struct dlb_slots *slots, uint32_t slot)
{
    return (struct dlb_slot *)((uint8_t *)slots->book.addr + (size_t)slot * slots->book_bytes);
}

/* Gives a slot's pages back to the kernel. The next access, in this process or another, faults in a
 * zeroed page, as in memory that was just mapped. Called by the side that holds the slot. */
int dlb_slots_renew(const struct dlb_slots *slots, uint32_t slot, struct dlb_err *err);

/* From now on uses pages of the ordinary size, as torch's shared memory does and as renewed slots
 * have. Before workers exist. */
void dlb_slots_small_pages(struct dlb_slots *slots);

/* The arrays of a slot's bookkeeping. */
uint64_t *dlb_slot_index(const struct dlb_slots *slots, uint32_t slot);
uint64_t *dlb_slot_offset(const struct dlb_slots *slots,
                          uint32_t slot); /* batch_size + 1 entries */
uint64_t *dlb_slot_hash(const struct dlb_slots *slots, uint32_t slot);
uint32_t *dlb_slot_label(const struct dlb_slots *slots, uint32_t slot);

/* Copies a batch with its bookkeeping; what the pin thread does. */
void dlb_slot_copy(const struct dlb_slots *to, uint32_t to_slot, const struct dlb_slots *from,
                   uint32_t from_slot);

/* A batch's borrowed view of a slot. */
struct dlb_batch dlb_slot_batch(const struct dlb_slots *slots, uint32_t slot, bool checksum);

#endif
