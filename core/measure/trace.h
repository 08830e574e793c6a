/* A timeline while it is recorded: what each thread did when, in rings of fixed memory.
 *
 * Floor 1. Opened and closed on the control thread, before workers exist and after they ended. Each
 * ring has one writer, a thread or a process, and nothing is locked. Rings lie in memory that
 * processes share; other programs map it by dlb_trace_fd. When a ring is full, its oldest records
 * are overwritten; `n` tells how many there were. The oldest may be half overwritten, so one record
 * less than there is room for is read.
 *
 * A record takes stamps that the accounting takes anyway: no clock is read for it. Without a trace
 * all rings are NULL, and the functions below do nothing. */
#ifndef DLB_CORE_MEASURE_TRACE_H
#define DLB_CORE_MEASURE_TRACE_H

#include "core/base/err.h"
#include "core/measure/trace_names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All rings of a trace share this many bytes, as far as DLB_TRACE_LEAST allows. */
#define DLB_TRACE_BYTES ((size_t)128 << 20)
#define DLB_TRACE_MOST ((size_t)1 << 18) /* records of a ring */
#define DLB_TRACE_LEAST ((size_t)1 << 12)

/* Spans of a stage that touch, within a batch, are one span as long as it is shorter than this: a
 * record for each sample of 100 ns would take 2 to 4% of a worker's time, most of it for bytes that
 * leave its caches. */
#define DLB_TRACE_MERGED_NS UINT64_C(2000)

#define DLB_TRACE_NO_SAMPLE UINT64_MAX
#define DLB_TRACE_NO_BATCH UINT32_MAX

/* One span of a track. loaders/torch/dlbench_trace.py writes the same bytes. */
struct dlb_trace_record {
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t sample; /* its number in the data set, or DLB_TRACE_NO_SAMPLE: of no sample, or
                        of several; of READY: the worker that made the batch */
    union {
        struct {
            uint32_t batch; /* its number in the epoch, or DLB_TRACE_NO_BATCH */
            uint16_t epoch;
            uint8_t stage;    /* of the track's table (trace_names.h) */
            uint8_t measured; /* 1: it counts in the tables of stages */
        };
        uint64_t place; /* all four, little endian, as dlbench_trace.py has them: in one store */
    };
};

struct dlb_trace_ring {
    _Atomic uint64_t n; /* records so far, overwritten ones included; counts what is stored */
    uint64_t mask;
    uint32_t track;  /* enum dlb_track */
    uint32_t index;  /* among the tracks of its kind */
    uint32_t loader; /* that it works for, or takes batches from */
    uint32_t unused;
    /* What its writer is at; each record takes it over. */
    uint64_t sample;
    uint64_t place;    /* batch and epoch, as in a record */
    uint64_t n_merged; /* spans that became part of the record before them */
    uint64_t more;
    struct dlb_trace_record at[]; /* [mask + 1] */
};

/* How many tracks there are of each kind, and of how many loaders. */
struct dlb_trace_layout {
    uint32_t n[DLB_TRACK_COUNT];
    uint32_t n_loaders;
};

struct dlb_trace {
    uint8_t *memory; /* the rings, one behind the other; owned; NULL: not opened */
    size_t n_bytes, ring_bytes;
    struct dlb_trace_layout layout;
    struct dlb_trace_names names; /* of the stages of another program */
    int fd;                       /* of the memory; owned */
};

/* DLB_E_NOMEM. */
int dlb_trace_open(struct dlb_trace *trace, const struct dlb_trace_layout *layout,
                   struct dlb_err *err);
void dlb_trace_close(struct dlb_trace *trace);

/* What a record costs its writer on this machine, in nanoseconds: the mean of many to a ring of
 * full size, none of which is merged. NaN: there is no memory for one. Takes milliseconds. */
double dlb_trace_record_ns(void);

/* NULL if there is no such track, or no trace (NULL, or not opened). */
struct dlb_trace_ring *dlb_trace_ring(const struct dlb_trace *trace, enum dlb_track track,
                                      uint32_t index);

/* Likewise, of the i-th track of a loader. */
struct dlb_trace_ring *dlb_trace_ring_of(const struct dlb_trace *trace, enum dlb_track track,
                                         uint32_t loader, uint32_t i);

/* The writer's side. `ring` may be NULL. */

/* What comes next belongs to this batch, and to no sample; beyond the epochs that a record can
 * number, to no batch either. */
static inline void dlb_trace_at_batch(struct dlb_trace_ring *ring, uint64_t epoch, uint64_t batch)
{
    if (!ring)
        return;
    uint32_t known = epoch <= UINT16_MAX ? (uint32_t)batch : DLB_TRACE_NO_BATCH;
    ring->place = known | (uint64_t)(uint16_t)epoch << 32;
    ring->sample = DLB_TRACE_NO_SAMPLE;
}

static inline void dlb_trace_at_sample(struct dlb_trace_ring *ring, uint64_t sample)
{
    if (ring)
        ring->sample = sample;
}

static inline void dlb_trace_add(struct dlb_trace_ring *ring, uint8_t stage, bool measured,
                                 uint64_t start_ns, uint64_t end_ns)
{
    if (!ring)
        return;
    uint64_t n = atomic_load_explicit(&ring->n, memory_order_relaxed);
    uint64_t place = ring->place | (uint64_t)stage << 48 | (uint64_t)measured << 56;
    struct dlb_trace_record *last = &ring->at[(n - 1) & ring->mask];
    if (n > 0 && last->place == place && last->end_ns == start_ns &&
        end_ns - last->start_ns < DLB_TRACE_MERGED_NS) {
        last->end_ns = end_ns;
        last->sample = DLB_TRACE_NO_SAMPLE;
        ring->n_merged++;
        return;
    }
    ring->at[n & ring->mask] = (struct dlb_trace_record){
        .start_ns = start_ns, .end_ns = end_ns, .sample = ring->sample, .place = place};
    atomic_store_explicit(&ring->n, n + 1, memory_order_release);
}

#endif
