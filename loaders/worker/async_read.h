/* Reads the samples of a batch ahead of their turn through io_uring: many reads are in flight, and
 * samples are delivered in order.
 *
 * Floor 3. One worker's own; created in its thread or process. Reads never go beyond the current
 * batch: the next one has no slot yet, and reading it would hold more than prefetch_factor batches.
 * With an identity codec the bytes are read straight to their places in the slot. */
#ifndef DLB_LOADERS_WORKER_ASYNC_READ_H
#define DLB_LOADERS_WORKER_ASYNC_READ_H

#include "core/base/err.h"
#include "formats/format.h"
#include "loaders/worker/setup.h"

#include <stdint.h>

struct dlb_async;

/* `reader` is the format's, open. *out is NULL if the kernel refuses io_uring, or with
 * loader.io = "auto" if the data cannot be read so, or are read faster sample by sample
 * (io_trial.h): the reason is in the worker's report, and the caller reads sample by sample. */
int dlb_async_open(struct dlb_async **out, const struct dlb_worker_setup *setup, void *reader,
                   struct dlb_err *err);
/* Waits for the reads in flight. NULL is fine. */
void dlb_async_close(struct dlb_async *async);

/* What reads the next batch; NULL: it is read sample by sample, as a trial of that way. */
struct dlb_async *dlb_async_of(struct dlb_async *async);

/* A batch was loaded, by what dlb_async_of said. NULL is fine. */
void dlb_async_loaded(struct dlb_async *async, uint64_t ns, uint32_t n_samples);

/* Begins a batch: samples [first, first + n) of the epoch's order. `slot` is the free part of its
 * payload; its data is NULL if the codec decodes from elsewhere. */
void dlb_async_begin(struct dlb_async *async, uint64_t first, uint32_t n, struct dlb_dest slot);

/* Waits for the next sample and returns it as the format's read does; borrowed until the next
 * call. One sample's error does not affect the others. DLB_E_CANCELLED, with nothing in *err,
 * when the worker must stop. */
int dlb_async_take(struct dlb_async *async, struct dlb_dest dest, struct dlb_sample *out,
                   struct dlb_err *err);

/* Gives up the rest of a batch. When it returns, nothing is written to the slot any more. NULL is
 * fine. */
void dlb_async_abandon(struct dlb_async *async);

#endif
