/* The worker: reads samples, decodes and transforms them, and places them in a batch slot. It is
 * the same for inline loading, threads and processes.
 *
 * Floor 3. One thread or process owns a struct dlb_worker and makes all calls. It knows nothing of
 * credits, rings or other workers: its caller says which slot to fill (loaders/pool, ld_inline.c).
 * What it measures goes to its report (report.h). */
#ifndef DLB_LOADERS_WORKER_WORKER_H
#define DLB_LOADERS_WORKER_WORKER_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "loaders/slots.h"
#include "loaders/worker/plant.h"
#include "loaders/worker/quick.h"
#include "loaders/worker/setup.h"
#include "loaders/worker/shuffle.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_worker {
    struct dlb_worker_setup setup;
    struct dlb_io_watch watch; /* times the reads of a slot that is being filled */
    uint64_t epoch;
    void *reader, *codec; /* states of the format's reader and of the codec; owned */
    uint8_t *made; /* room for what the device is to make of a sample, so that it can be hashed;
                      NULL: nothing is made; owned */
    struct dlb_async *async; /* unless loader.io = "sync", if the kernel allows it; owned */
    struct dlb_async *ahead; /* reads the batch that is filled; NULL: sample by sample */
    uint32_t n_at_once;      /* short samples that are read at once; 0: each is read by itself */
    bool shares_stamps;      /* samples may share a time stamp if they are quick */
    struct dlb_quick quick;
    struct dlb_plant plant;
    /* iterable data only */
    struct dlb_shuffle *shuffle; /* NULL without shuffle; owned */
    uint32_t *shards;            /* this epoch's, in order; owned */
    uint32_t n_shards, next_shard;
    uint64_t n_of_shard; /* samples read of the current one */
    bool in_shard;
};

/* Binds the calling thread, opens reader and codec, and pays the planted start-up cost. After a
 * failure dlb_worker_close is still to be called. The struct must not move until then. */
int dlb_worker_open(struct dlb_worker *worker, const struct dlb_worker_setup *setup,
                    struct dlb_err *err);
void dlb_worker_close(struct dlb_worker *worker);

/* Iterable data: orders this worker's shards anew and empties its shuffle buffer. */
void dlb_worker_begin_epoch(struct dlb_worker *worker, uint64_t epoch);

/* Fills a slot with map-style batch number `batch`, or for iterable data with the next samples of
 * the worker's shards. DLB_END when there is no such batch, or when the shards are exhausted and
 * the samples that are left make no batch. DLB_E_CANCELLED, with nothing in *err, when told to
 * stop. */
int dlb_worker_fill(struct dlb_worker *worker, uint64_t batch, const struct dlb_slots *slots,
                    uint32_t slot, struct dlb_err *err);

#endif
