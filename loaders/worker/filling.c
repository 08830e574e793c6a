#include "loaders/worker/filling.h"

#include "core/base/clock.h"

void dlb_filling_publish(struct dlb_worker *worker, uint64_t at, uint64_t nth, uint64_t since_ns)
{
    atomic_store_explicit(&worker->setup.report->at, at, memory_order_relaxed);
    atomic_store_explicit(&worker->setup.report->at_nth, nth, memory_order_relaxed);
    atomic_store_explicit(&worker->setup.report->at_since_ns, since_ns, memory_order_relaxed);
    if (worker->setup.live)
        dlb_live_begin(&worker->setup.live->blocked, since_ns);
    dlb_pulse_sign(worker->setup.pulse);
}

/* The hash of a sample's bytes. If a device makes other bytes of them, those are hashed: a sample's
 * hash is the same with transform.where "cpu" and "gpu". */
static uint64_t hash_sample(struct dlb_worker *worker, struct dlb_filling *fill,
                            const uint8_t *bytes, size_t n_bytes)
{
    const struct dlb_augment *augment = &worker->setup.job->dataset->augment;

    dlb_hash_add(&fill->delivered, bytes, n_bytes);
    if (!worker->made)
        return dlb_hash64(bytes, n_bytes, 0);
    dlb_augment_run(augment, bytes, worker->made);
    fill->made_hash = dlb_hash64(worker->made, augment->out_bytes, fill->made_hash);
    return dlb_hash64(worker->made, augment->out_bytes, 0);
}

uint64_t dlb_filling_note(struct dlb_worker *worker, struct dlb_filling *fill, uint64_t index,
                          uint32_t label, size_t n_bytes, uint64_t now_ns)
{
    uint32_t at = fill->n_samples++;
    dlb_slot_index(fill->slots, fill->slot)[at] = index;
    dlb_slot_offset(fill->slots, fill->slot)[at] = fill->used_bytes;
    dlb_slot_label(fill->slots, fill->slot)[at] = label;
    if (worker->setup.job->checksum) {
        uint64_t from_ns = now_ns;
        dlb_slot_hash(fill->slots, fill->slot)[at] =
            hash_sample(worker, fill, fill->payload + fill->used_bytes, n_bytes);
        now_ns = dlb_now_ns();
        dlb_trace_at_sample(worker->setup.trace, index);
        dlb_worker_meter(&worker->setup, DLB_WS_COLLATE, from_ns, now_ns);
    }
    fill->used_bytes += n_bytes;
    return now_ns;
}
