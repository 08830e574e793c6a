#include "core/measure/trace.h"

#include "core/base/clock.h"
#include "core/base/mem.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096

_Static_assert(sizeof(struct dlb_trace_record) == 32, "dlbench_trace.py packs records of 32 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "... and of this order");
_Static_assert(offsetof(struct dlb_trace_ring, at) == 64, "... behind heads of 64 bytes");

const char *const dlb_track_names[DLB_TRACK_COUNT] = {
    [DLB_TRACK_WORKER] = "worker",
    [DLB_TRACK_SENDER] = "sender",
    [DLB_TRACK_PIN] = "pin",
    [DLB_TRACK_LOOP] = "loop",
    [DLB_TRACK_INTERPRETER] = "interpreter",
    [DLB_TRACK_COPY] = "copy",
    [DLB_TRACK_COMPUTE] = "device",
};

/* The largest power of two with which all rings fit. */
static size_t records_of(uint32_t n_rings)
{
    size_t n = DLB_TRACE_MOST;
    while (n > DLB_TRACE_LEAST && n * sizeof(struct dlb_trace_record) * n_rings > DLB_TRACE_BYTES)
        n /= 2;
    return n;
}

static uint32_t place_of(const struct dlb_trace_layout *layout, enum dlb_track track,
                         uint32_t index)
{
    for (int i = 0; i < (int)track; i++)
        index += layout->n[i];
    return index;
}

static struct dlb_trace_ring *ring_at(const struct dlb_trace *trace, uint32_t place)
{
    return (struct dlb_trace_ring *)(void *)(trace->memory + place * trace->ring_bytes);
}

static void begin_rings(struct dlb_trace *trace, size_t n_records)
{
    const struct dlb_trace_layout *layout = &trace->layout;
    uint32_t place = 0;
    for (int track = 0; track < DLB_TRACK_COUNT; track++)
        for (uint32_t i = 0; i < layout->n[track]; i++) {
            struct dlb_trace_ring *ring = ring_at(trace, place++);
            uint32_t n_each = layout->n[track] / layout->n_loaders;
            ring->mask = n_records - 1;
            ring->track = (uint32_t)track;
            ring->index = i;
            /* Several accelerators at one loader are more than its own tracks. */
            ring->loader = n_each > 0 ? i / n_each : 0;
            dlb_trace_at_batch(ring, 0, DLB_TRACE_NO_BATCH);
        }
}

int dlb_trace_open(struct dlb_trace *trace, const struct dlb_trace_layout *layout,
                   struct dlb_err *err)
{
    uint32_t n_rings = place_of(layout, DLB_TRACK_COUNT, 0);
    size_t n_records = records_of(n_rings);

    *trace = (struct dlb_trace){.layout = *layout, .fd = -1};
    trace->ring_bytes = (sizeof(struct dlb_trace_ring) +
                         n_records * sizeof(struct dlb_trace_record) + PAGE_BYTES - 1) /
                        PAGE_BYTES * PAGE_BYTES;
    trace->n_bytes = n_rings * trace->ring_bytes;
    trace->fd = memfd_create("dlbench-trace", MFD_CLOEXEC);
    if (trace->fd < 0 || ftruncate(trace->fd, (off_t)trace->n_bytes) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "memory for the timeline's rings");
    void *memory = mmap(NULL, trace->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd, 0);
    if (memory == MAP_FAILED)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "mapping the timeline's rings");
    trace->memory = memory;
#ifdef MADV_POPULATE_WRITE
    (void)madvise(memory, trace->n_bytes,
                  MADV_POPULATE_WRITE); /* a fault costs 128 records' time */
#endif
    begin_rings(trace, n_records);
    return DLB_OK;
}

void dlb_trace_close(struct dlb_trace *trace)
{
    if (trace->memory)
        (void)munmap(trace->memory, trace->n_bytes);
    if (trace->memory || trace->fd > 0)
        (void)close(trace->fd);
    *trace = (struct dlb_trace){.fd = -1};
}

struct dlb_trace_ring *dlb_trace_ring(const struct dlb_trace *trace, enum dlb_track track,
                                      uint32_t index)
{
    if (!trace || !trace->memory || index >= trace->layout.n[track])
        return NULL;
    return ring_at(trace, place_of(&trace->layout, track, index));
}

struct dlb_trace_ring *dlb_trace_ring_of(const struct dlb_trace *trace, enum dlb_track track,
                                         uint32_t loader, uint32_t i)
{
    if (!trace || !trace->memory)
        return NULL;
    uint32_t n_each = trace->layout.n[track] / trace->layout.n_loaders;
    return i < n_each ? dlb_trace_ring(trace, track, loader * n_each + i) : NULL;
}

static uint64_t fill(struct dlb_trace_ring *ring)
{
    uint64_t start_ns = dlb_now_ns();
    for (uint64_t i = 0; i < DLB_TRACE_MOST; i++) {
        dlb_trace_at_sample(ring, i);
        dlb_trace_add(ring, 0, true, 2 * i + 1, 2 * i + 2);
    }
    return dlb_now_ns() - start_ns;
}

double dlb_trace_record_ns(void)
{
    const struct dlb_trace_layout layout = {.n = {[DLB_TRACK_WORKER] = 1}, .n_loaders = 1};
    struct dlb_trace trace;
    struct dlb_err ignored;
    if (dlb_trace_open(&trace, &layout, &ignored))
        return (double)NAN;
    struct dlb_trace_ring *ring = dlb_trace_ring(&trace, DLB_TRACK_WORKER, 0);
    (void)fill(ring); /* has its pages made */
    double each_ns = (double)fill(ring) / (double)DLB_TRACE_MOST;
    dlb_trace_close(&trace);
    return each_ns;
}
