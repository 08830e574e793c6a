#include "loaders/slots.h"

#include "core/base/units.h"
#include "core/host/osacct.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, LINE_BYTES = 64 };

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t head_bytes(void)
{
    return round_up(sizeof(struct dlb_slot), LINE_BYTES);
}

static int check_memory(uint64_t need_bytes, uint32_t n_slots, uint64_t slot_bytes,
                        struct dlb_err *err)
{
    char need[32], each[32], have[32];
    uint64_t available = dlb_os_mem_available_bytes();

    if (available == DLB_NOT_MEASURED || need_bytes <= available)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_LOADER_SLOTS_MEMORY, NULL, DLB_NO_OFFSET,
                    "%u batch slots of %s need %s, %s is available: lower batch_size, num_workers, "
                    "prefetch_factor or, where accelerators share workers, accelerators.count",
                    n_slots, dlb_bytes_text(slot_bytes, each, sizeof each),
                    dlb_bytes_text(need_bytes, need, sizeof need),
                    dlb_bytes_text(available, have, sizeof have));
}

static uint32_t n_slots_each(const struct dlb_loader_opts *opts, uint32_t device_prefetch,
                             uint32_t n_others)
{
    uint32_t held = 1 + device_prefetch;
    /* In order, the batches that devices hold came from all workers in turn. With order "any" one
     * worker may have loaded them all. */
    uint32_t among = opts->order == DLB_ORDER_ANY ? 1 : (uint32_t)opts->num_workers;
    if (opts->num_workers == 0)
        return 1 + (1 + n_others) * held;
    return (uint32_t)opts->prefetch_factor + held + (n_others * held + among - 1) / among;
}

/* 0: beyond 64 bits. */
static uint64_t payload_bytes(uint64_t batch_size, uint64_t max_sample_bytes)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(max_sample_bytes, batch_size, &bytes) || bytes > SIZE_MAX / 2)
        return 0;
    return round_up((size_t)bytes + 1, PAGE_BYTES);
}

struct dlb_slots_size dlb_slots_size(const struct dlb_loader_opts *opts, uint32_t device_prefetch,
                                     uint32_t n_others, uint64_t max_sample_bytes)
{
    struct dlb_slots_size size = {.n_each = n_slots_each(opts, device_prefetch, n_others)};
    uint64_t n_delivered =
        (uint64_t)size.n_each * (opts->num_workers ? (uint64_t)opts->num_workers : 1);
    uint64_t each = payload_bytes((uint64_t)opts->batch_size, max_sample_bytes);
    bool copies = opts->pin_memory && opts->pin_mode == DLB_PIN_THREAD;
    size.n_slots = n_delivered + (!copies ? 0 : opts->num_workers ? n_delivered : 1);
    if (each == 0 || __builtin_mul_overflow(each, size.n_slots, &size.all_bytes))
        size.all_bytes = UINT64_MAX;
    size.delivered_bytes = size.all_bytes == UINT64_MAX ? UINT64_MAX : each * n_delivered;
    return size;
}

int dlb_slots_open(struct dlb_slots *slots, uint32_t n_slots, uint32_t batch_size,
                   uint64_t max_sample_bytes, bool across_processes, struct dlb_err *err)
{
    uint64_t payload = payload_bytes(batch_size, max_sample_bytes), total = 0;

    *slots = (struct dlb_slots){
        .across_processes = across_processes, .n_slots = n_slots, .batch_size = batch_size};
    if (payload == 0 || __builtin_mul_overflow(payload, (uint64_t)n_slots, &total))
        return dlb_fail(err, DLB_ERR_LOADER_SLOTS_MEMORY, NULL, DLB_NO_OFFSET,
                        "%u samples of up to %llu bytes do not fit in an address space", batch_size,
                        (unsigned long long)max_sample_bytes);
    slots->payload_bytes = (size_t)payload;
    slots->book_bytes = round_up(
        head_bytes() + batch_size * (3 * sizeof(uint64_t) + sizeof(uint32_t)) + sizeof(uint64_t),
        LINE_BYTES);
    int rc = check_memory(total, n_slots, slots->payload_bytes, err);
    if (rc == DLB_OK)
        rc = dlb_shm_create(&slots->payload, (size_t)total, across_processes, err);
    if (rc == DLB_OK)
        rc = dlb_shm_create(&slots->book, slots->book_bytes * n_slots, across_processes, err);
    if (rc != DLB_OK)
        dlb_slots_close(slots);
    return rc;
}

void dlb_slots_close(struct dlb_slots *slots)
{
    dlb_shm_free(&slots->payload);
    dlb_shm_free(&slots->book);
}

/* torch maps new shared memory for each batch: the worker faults its pages in while it collates,
 * the parent faults them in again when it reads, and unmapping frees them. A hole that is punched
 * into the one mapping has the same faults on both sides and the same freeing, for a hole unmaps
 * its pages from every process. What it leaves out are the system calls that make the memory and
 * send its descriptor, some tens of microseconds a batch. */
int dlb_slots_renew(const struct dlb_slots *slots, uint32_t slot, struct dlb_err *err)
{
    int advice = slots->across_processes ? MADV_REMOVE : MADV_DONTNEED;
    if (madvise(dlb_slot_payload(slots, slot), slots->payload_bytes, advice) == 0)
        return DLB_OK;
    return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "giving a batch slot's memory back");
}

void dlb_slots_small_pages(struct dlb_slots *slots)
{
    if (madvise(slots->payload.addr, slots->payload.n_bytes, MADV_NOHUGEPAGE) == 0)
        slots->payload.huge = false;
}

static uint64_t *arrays(const struct dlb_slots *slots, uint32_t slot)
{
    return (uint64_t *)(void *)((uint8_t *)dlb_slot_head(slots, slot) + head_bytes());
}

uint64_t *dlb_slot_offset(const struct dlb_slots *slots, uint32_t slot)
{
    return arrays(slots, slot);
}

uint64_t *dlb_slot_index(const struct dlb_slots *slots, uint32_t slot)
{
    return arrays(slots, slot) + slots->batch_size + 1;
}

uint64_t *dlb_slot_hash(const struct dlb_slots *slots, uint32_t slot)
{
    return arrays(slots, slot) + 2 * (size_t)slots->batch_size + 1;
}

uint32_t *dlb_slot_label(const struct dlb_slots *slots, uint32_t slot)
{
    return (uint32_t *)(arrays(slots, slot) + 3 * (size_t)slots->batch_size + 1);
}

void dlb_slot_copy(const struct dlb_slots *to, uint32_t to_slot, const struct dlb_slots *from,
                   uint32_t from_slot)
{
    memcpy(dlb_slot_payload(to, to_slot), dlb_slot_payload(from, from_slot),
           dlb_slot_head(from, from_slot)->n_bytes);
    memcpy(dlb_slot_head(to, to_slot), dlb_slot_head(from, from_slot), from->book_bytes);
}

struct dlb_batch dlb_slot_batch(const struct dlb_slots *slots, uint32_t slot, bool checksum)
{
    const struct dlb_slot *head = dlb_slot_head(slots, slot);
    return (struct dlb_batch){.data = dlb_slot_payload(slots, slot),
                              .n_bytes = head->n_bytes,
                              .n_samples = head->n_samples,
                              .n_skipped = head->n_skipped,
                              .index = dlb_slot_index(slots, slot),
                              .offset_bytes = dlb_slot_offset(slots, slot),
                              .label = dlb_slot_label(slots, slot),
                              .hash = checksum ? dlb_slot_hash(slots, slot) : NULL,
                              .payload_hash = head->payload_hash,
                              .made_hash = head->made_hash,
                              .ready_ns = head->ready_ns,
                              .number = head->number,
                              .slot = slot};
}
