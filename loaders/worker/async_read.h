/* Reading a batch's samples ahead of their turn: many reads in flight, delivered in order.
 *
 * Floor 3. A worker's own; made in its thread or process. The window is the batch: the next one has
 * no slot yet, and a worker that read it all the same would hold more than its prefetch_factor.
 * Where the codec changes nothing, the bytes go straight to their places in the slot. */
#ifndef DLB_LOADERS_WORKER_ASYNC_READ_H
#define DLB_LOADERS_WORKER_ASYNC_READ_H

#include "core/base/err.h"
#include "formats/format.h"
#include "loaders/worker/setup.h"

#include <stdint.h>

struct dlb_async;

/* For a worker whose reader is open. *out stays NULL where the kernel refuses io_uring: the reason
 * is in the worker's report, and the caller reads in the ordinary way. */
int dlb_async_open(struct dlb_async **out, const struct dlb_worker_setup *setup, void *reader,
                   struct dlb_err *err);
/* Waits for what is in flight. NULL is fine. */
void dlb_async_close(struct dlb_async *async);

/* From here on the worker wants samples [first, first + n) of the epoch's order. `slot`: where its
 * payload begins and may end; no data where a codec comes in between. */
void dlb_async_begin(struct dlb_async *async, uint64_t first, uint32_t n, struct dlb_dest slot);

/* The next one, waiting for it; as the format's read. The error of a sample does not touch the
 * others. DLB_E_CANCELLED, with nothing in *err, when the worker is told to stop. Borrowed until
 * the next call. */
int dlb_async_take(struct dlb_async *async, struct dlb_dest dest, struct dlb_sample *out,
                   struct dlb_err *err);

/* Ends a batch before its end: nothing is written to the slot any more. NULL is fine. */
void dlb_async_abandon(struct dlb_async *async);

#endif
