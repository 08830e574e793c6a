/* Everything that is timed, with its name.
 *
 * Floor 1. Three tables: workers, consumer, device. They overlap in time and are never added up.
 * Each meter has one writer. The structs hold no pointers and lie in shared memory where workers
 * may be processes. */
#ifndef DLB_CORE_MEASURE_METERS_H
#define DLB_CORE_MEASURE_METERS_H

#include "core/measure/hist.h"

#include <stdint.h>

/* Stages of a worker. read to collate are work; the two after pin are waits. Stages are timed
 * per sample, with five exceptions: reads of short samples that are in memory, many at a time (each
 * counts with their mean), quick reads that share a stamp (loaders/worker/quick.h), collate (per
 * sample when it copies or hashes, and once to finish the batch), the waits (per batch), and init
 * (per start of a worker, not part of the work). */
#define DLB_WORKER_STAGES(X)                                                                       \
    X(READ, "read")           /* format: bytes from storage or page cache, framing included */     \
    X(DECODE, "decode")       /* codec: bytes to pixels, decompression */                          \
    X(TRANSFORM, "transform") /* codec: crop, resize, flip, normalise, into the slot */            \
    X(COLLATE, "collate") /* copy into the slot where reading could not place it there; offsets,   \
                             checksums */                                                          \
    X(PIN, "pin")         /* pin_mode "thread": copy from slot to pinned buffer */                 \
    X(WAIT_CREDIT, "wait_credit") /* prefetch_factor batches are ready: the consumer is slower */  \
    X(WAIT_SLOT, "wait_slot")     /* all slots are in transfer to the device */                    \
    X(INIT, "init")               /* planted: loader.worker_init_ms and worker_init_mb */

/* Stages of the consumer: the training loop's thread. Their sum and `unaccounted` add up to its
 * wall-clock time. */
#define DLB_CONSUMER_STAGES(X)                                                                     \
    X(EPOCH_START, "epoch_start") /* begin_epoch: permutation, start of workers; with several      \
                                     accelerators, waiting for the others */                       \
    X(INPUT_WAIT, "input_wait")   /* next(); with 0 workers it includes the loading */             \
    X(COPY_CALL, "copy_call") /* handing the copy to the device; a pageable copy blocks here */    \
    X(BARRIER, "barrier")     /* waiting for other accelerators to start their steps */            \
    X(STEP_CALL, "step_call") /* handing the step to the device */                                 \
    X(HOST, "host")           /* CPU time of the loop itself (device.host_busy_frac) */            \
    X(DEVICE_WAIT, "device_wait") /* waiting for a step (or, with depth 0, everything) to end,     \
                                     until its deadline */                                         \
    X(OVERSLEEP, "oversleep") /* from the device's readiness to the wake-up: caused by the host,   \
                                 never counted as busy */                                          \
    X(RELEASE, "release")     /* polling for finished copies and returning slots */                \
    X(ACCOUNT,                                                                                     \
      "account") /* the harness's own bookkeeping: exactly-once bitmap, checksums, meters */

/* Stages of the device, on its own clock, per step, over the measured window. */
#define DLB_DEVICE_STAGES(X)                                                                       \
    X(COMPUTE, "compute")           /* step start to step end */                                   \
    X(COPY, "copy")                 /* copy start to copy end, hidden or not */                    \
    X(EXPOSED_COPY, "exposed_copy") /* compute idle while the copy of the next batch ran */        \
    X(IDLE_INPUT, "idle_input")     /* compute idle while the consumer waited for a batch */       \
    X(IDLE_OTHER, "idle_other") /* compute idle for the rest: scheduling, oversleep, epoch start   \
                                 */

#define X(id, name) DLB_WS_##id,
enum dlb_worker_stage { DLB_WORKER_STAGES(X) DLB_WS_COUNT };
#undef X
#define X(id, name) DLB_CS_##id,
enum dlb_consumer_stage { DLB_CONSUMER_STAGES(X) DLB_CS_COUNT };
#undef X
#define X(id, name) DLB_DS_##id,
enum dlb_device_stage { DLB_DEVICE_STAGES(X) DLB_DS_COUNT };
#undef X

/* Requests to the kernel, a table of their own. With io_uring: from submission until the worker
 * sees the completion. The worker looks whenever it needs a sample, so a completion during
 * decoding is seen late, by at most the decoding of one sample. Where each sample is a file,
 * opening is included. Otherwise: the duration of each read(2). There are none for maps, and for
 * libraries that read by themselves. */
struct dlb_io_meters {
    struct dlb_hist request;
    uint64_t n_bytes; /* that they brought */
    uint64_t
        n_again; /* io_uring: requests for the rest of a short read, or after EINTR or EAGAIN */
    uint32_t max_in_flight;
};

struct dlb_worker_meters {
    struct dlb_hist stage[DLB_WS_COUNT];
    struct dlb_io_meters io;
    uint64_t n_samples; /* samples that io_bytes were read for; includes samples that were read and
                           never consumed, not those skipped */
    uint64_t n_batches, n_skipped;
    uint64_t n_cut_shards; /* shards abandoned where they are damaged; how many samples followed is
                              not known */
    uint64_t io_bytes;     /* bytes that formats asked the byte source for */
    uint64_t cpu_ns;       /* CLOCK_THREAD_CPUTIME_ID */
};

void dlb_worker_meters_merge(struct dlb_worker_meters *into, const struct dlb_worker_meters *from);

/* Name tables, in enum order. */
extern const char *const dlb_worker_stage_names[DLB_WS_COUNT];
extern const char *const dlb_consumer_stage_names[DLB_CS_COUNT];
extern const char *const dlb_device_stage_names[DLB_DS_COUNT];

#endif
