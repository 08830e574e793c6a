/* The worker: read, decode, transform, collate, into a slot. The same for inline loading, threads
 * and processes.
 *
 * Floor 3. One thread or process owns a struct dlb_worker; what it reports lies in struct
 * dlb_worker_report, which may be shared memory. */
#ifndef DLB_LOADERS_WORKER_WORKER_H
#define DLB_LOADERS_WORKER_WORKER_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/host/osacct.h"
#include "core/measure/meters.h"
#include "loaders/loader.h"
#include "loaders/sampler.h"
#include "loaders/slots.h"
#include "loaders/worker/shuffle.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_worker_report {
    struct dlb_worker_meters meters;
    struct dlb_io_used io;
    uint32_t n_skipped_named;
    struct dlb_err skipped[DLB_MAX_SKIPPED_NAMED];
    uint64_t
        runqueue_ns; /* of the thread, at its end; DLB_NOT_MEASURED where schedstat is not there */
    struct dlb_os_process os; /* of a process, over its life; zeros for a thread */
    uint64_t private_bytes;   /* that a process added, at its end; the largest of its lives */
    /* What it is at, for whoever asks while it cannot answer. */
    _Atomic uint64_t at;          /* map-style: the sample; iterable: the shard */
    _Atomic uint64_t at_nth;      /* iterable: how many samples of it it has read */
    _Atomic uint64_t at_since_ns; /* 0: at none */
};

/* Adds one worker's report to what a loader tells of all of them. */
void dlb_worker_report_merge(struct dlb_loader_stats *into, const struct dlb_worker_report *report);

struct dlb_worker {
    const struct dlb_job *job;
    const struct dlb_sampler *sampler;
    struct dlb_worker_report *report;
    struct dlb_io_watch watch; /* of its reads while it fills a slot */
    uint32_t id, n_workers;
    uint64_t epoch;
    struct dlb_pulse *pulse; /* told of each sample; NULL: who waits for its batches sees to that */
    const _Atomic bool *stop; /* looked at before every sample; NULL: never asked to stop. Set it
                                 after dlb_worker_open and before dlb_plant_init */
    void *reader, *codec;     /* owned */
    uint8_t *made; /* what the device is to make of a sample, for its hash; NULL: nothing; owned */
    struct dlb_async *async; /* loader.io = "io_uring", where the kernel has it; owned */
    void *init_memory;       /* worker_init_mb; owned */
    size_t init_bytes;
    uint64_t planted_ns, slept_ns; /* sample_sleep_us: asked for, and slept */
    /* iterable data only */
    struct dlb_shuffle *shuffle; /* NULL without shuffle; owned */
    uint32_t *shards;            /* owned */
    uint32_t n_shards, next_shard;
    uint64_t n_of_shard; /* samples read of the current one */
    bool in_shard;
};

static inline bool dlb_worker_told_to_stop(const struct dlb_worker *worker)
{
    return worker->stop && atomic_load_explicit(worker->stop, memory_order_relaxed);
}

/* Opens reader and codec, binds the calling thread. On failure dlb_worker_close is still to be
 * called. */
int dlb_worker_open(struct dlb_worker *worker, const struct dlb_job *job,
                    const struct dlb_sampler *sampler, uint32_t id, uint32_t n_workers,
                    struct dlb_worker_report *report, struct dlb_err *err);
void dlb_worker_close(struct dlb_worker *worker);

int dlb_worker_begin_epoch(struct dlb_worker *worker, uint64_t epoch, struct dlb_err *err);

/* Fills a slot with the worker's batch: map-style batch number `batch`; iterable: the next samples
 * of its shards. DLB_END when there is no such batch (map-style), or when the stream is exhausted
 * and what is left is no batch (iterable). */
int dlb_worker_fill(struct dlb_worker *worker, uint64_t batch, const struct dlb_slots *slots,
                    uint32_t slot, struct dlb_err *err);

#endif
