/* Loaders: how workers turn a data set into batches. One const table, one file, one line in
 * loaders.def.
 *
 * Floor 3. Every call comes from the consumer's thread. */
#ifndef DLB_LOADERS_LOADER_H
#define DLB_LOADERS_LOADER_H

#include "core/base/err.h"
#include "core/base/futex.h"
#include "core/base/opt.h"
#include "core/base/pulse.h"
#include "core/host/osacct.h"
#include "core/host/topo.h"
#include "core/measure/meters.h"
#include "formats/dataset.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_pin_mode { DLB_PIN_DIRECT, DLB_PIN_THREAD };
enum dlb_order { DLB_ORDER_IN_ORDER, DLB_ORDER_ANY };
enum dlb_read_io { DLB_READ_SYNC, DLB_READ_URING };
enum dlb_transport { DLB_TRANSPORT_POOLED, DLB_TRANSPORT_FRESH };

/* The `loader` section. Names and defaults are torch.utils.data.DataLoader's where it has them. */
struct dlb_loader_opts {
    int kind; /* 0 = "auto" (inline for 0 workers, else threads), else 1 + place in dlb_loaders */
    int64_t batch_size;
    int64_t num_workers;
    int64_t
        prefetch_factor; /* batches per worker, in flight or ready; meaningless with 0 workers */
    bool pin_memory;
    int pin_mode; /* enum dlb_pin_mode; pin_memory only */
    bool persistent_workers;
    bool shuffle; /* map-style: a permutation; iterable: shard order and a shuffle buffer */
    int64_t
        shuffle_buffer; /* iterable: samples held by each worker (WebDataset's default is 1000) */
    int64_t shuffle_buffer_bytes; /* iterable: its cap in bytes, per worker */
    bool drop_last;
    int order;        /* enum dlb_order: torch's in_order */
    double timeout_s; /* longest wait for one batch; 0: for ever */
    int transport;    /* enum dlb_transport: slots are reused, or each batch's memory is new */
    int bind;         /* enum dlb_bind */
    int io;           /* enum dlb_read_io: a read after the other, or many at once */
    int64_t io_depth; /* DLB_READ_URING: reads of each worker in flight, at most */
    bool direct;      /* past the page cache, as dataset.access = "direct" */
    double sample_sleep_us; /* planted waiting per sample: for demonstrations and tests */
    double sample_spin_us;  /* planted computing per sample */
    double worker_init_ms, worker_init_mb; /* planted: an expensive Dataset constructor */
};
extern const struct dlb_opt_group dlb_loader_group;

struct dlb_shuffled; /* sampler.h */

/* Everything a loader needs; borrowed for the loader's life. */
struct dlb_job {
    const struct dlb_dataset *dataset;
    const struct dlb_loader_opts *opts;
    const struct dlb_topo *topo; /* NULL: no placement */
    uint32_t rank, world;
    uint32_t n_loaders;    /* of this process, each with as many workers; 0: 1 */
    uint32_t first_worker; /* number of its first one among those of all loaders: for placement */
    uint64_t seed;
    struct dlb_shuffled *order; /* one for the loaders of a process; NULL: each has its own */
    uint32_t device_prefetch;   /* slots that a device may hold, beside the one that it is handed */
    uint32_t n_others;          /* devices beside the first that share this loader */
    bool checksum;              /* hash each sample's payload */
    const atomic_bool
        *cancel; /* loading inside next() looks at it before every sample; may be NULL */
    /* Signalled with every batch that is ready and with every failure, for a consumer that asks
     * several loaders with a timeout of 0 and sleeps here; in memory that worker processes share.
     * NULL: who waits does so inside next(). */
    struct dlb_event *ready;
    struct dlb_pulse *pulse; /* told of samples, too; says when to give up; may be NULL */
};

/* Iterable data are split by rank, then by worker: the shards of all the process's loaders, and how
 * many of their workers have any. */
struct dlb_job_share {
    uint64_t n_shards, n_busy;
};
struct dlb_job_share dlb_job_share(const struct dlb_job *job);

/* A batch is bytes plus offsets: ragged samples are legal. Borrowed until release. */
struct dlb_batch {
    const uint8_t *data;
    size_t n_bytes;
    uint32_t n_samples; /* what was skipped is not in here */
    uint32_t n_skipped;
    const uint64_t *index;        /* [n_samples] number in the data set */
    const uint64_t *offset_bytes; /* [n_samples + 1] into data */
    const uint32_t *label;        /* [n_samples] */
    const uint64_t *hash; /* [n_samples] of each payload, or of what a device is to make of it; only
                             with job->checksum, else NULL */
    uint64_t payload_hash; /* dlb_hash64(data, n_bytes, 0) if each sample still is what it was when
                              the worker had placed it; only with job->checksum */
    uint64_t made_hash; /* of what the device is to make of the batch, each sample's bytes with the
                           hash so far as seed; only with job->checksum and an augment */
    uint64_t seq;       /* 0, 1, ... within the epoch, as delivered */
    uint32_t worker, slot;
};

struct dlb_memory { /* what the loader holds */
    void *addr;     /* what copies start from: to be pinned */
    size_t n_bytes;
    size_t slots_bytes; /* all slots, addr included */
    bool huge;
    bool shared; /* between processes: each one's proportional share tells little of the whole */
};

#define DLB_MAX_SKIPPED_NAMED 16

/* How workers came to read. */
struct dlb_io_used {
    uint32_t n_uring,
        n_sync;            /* starts of workers that wanted io_uring, and did or did not get it */
    uint32_t n_registered; /* of the former: with buffers that the kernel knows */
    char reason[160];      /* the first of those that did not */
};

struct dlb_loader_stats {
    struct dlb_worker_meters workers; /* all workers together; stop() first */
    uint64_t runqueue_ns; /* summed over workers; DLB_NOT_MEASURED where schedstat is not there */
    struct dlb_os_process os; /* summed over worker processes; zeros for threads, which the
                                 process's own account has */
    uint64_t private_bytes;   /* anonymous memory that worker processes added, all together; without
                                 pages of the parent's that they wrote to. 0 for threads */
    uint64_t order_wait_ns;   /* consumer waited for one worker while another's batch was ready */
    struct dlb_io_used io;
    uint32_t n_skipped_named;
    struct dlb_err skipped[DLB_MAX_SKIPPED_NAMED];
};

struct dlb_loader {
    const char *name, *summary;
    const char *missing;
    size_t state_bytes; /* the core allocates it, zeroed, 64-byte aligned */

    /* Maps slots. BEFORE any thread, CUDA, NVML or MPI. */
    int (*start)(void *ld, const struct dlb_job *job, struct dlb_err *err);
    void (*memory)(void *ld, struct dlb_memory *out);
    /* (Re)creates workers unless persistent; sets the epoch's order. */
    int (*begin_epoch)(void *ld, uint32_t epoch, struct dlb_err *err);
    /* DLB_END at the epoch's end. DLB_OK with *got == false: timeout_ns passed without a batch. */
    int (*next)(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                struct dlb_err *err);
    void (*release)(void *ld, const struct dlb_batch *batch); /* slot may be refilled: at COPIED */
    /* Tells workers to leave and waits for nobody: of several loaders all are told before one is
     * waited for. NULL: there is nobody to tell. */
    void (*dismiss)(void *ld);
    /* Joins or reaps; dismisses who was not; idempotent; bounded from the dismissal on:
     * DLB_E_WORKER when a worker does not come back. */
    int (*stop)(void *ld, struct dlb_err *err);
    void (*stats)(void *ld, struct dlb_loader_stats *out); /* adds its own; after stop */
    void (*close)(void *ld); /* frees memory; after stop, or after a failed start */
};

extern const struct dlb_loader
    *const dlb_loaders[]; /* ends with NULL; in the order of loaders.def */

/* Which loader opts->kind means; DLB_E_CONFIG in *err and NULL for what makes no sense (threads
 * with 0 workers, ...). */
const struct dlb_loader *dlb_loader_choose(const struct dlb_loader_opts *opts, struct dlb_err *err);

/* DLB_E_CONFIG where loader.io asks for reads that the format does not let a loader do. `access`:
 * dataset.access. */
int dlb_loader_check_reads(const struct dlb_loader_opts *opts, const struct dlb_format *format,
                           int access, bool iterable, struct dlb_err *err);

#endif
