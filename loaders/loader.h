/* Loaders: they turn a data set into batches, with workers or without.
 *
 * Floor 3. All calls of a loader come from the consumer's thread. A loader is one const struct
 * dlb_loader in one file, and one line in loaders.def. */
#ifndef DLB_LOADERS_LOADER_H
#define DLB_LOADERS_LOADER_H

#include "core/base/err.h"
#include "core/base/futex.h"
#include "core/base/opt.h"
#include "core/base/pulse.h"
#include "core/host/osacct.h"
#include "core/host/topo.h"
#include "core/measure/meters.h"
#include "core/measure/trace.h"
#include "formats/dataset.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_pin_mode { DLB_PIN_DIRECT, DLB_PIN_THREAD };
enum dlb_order { DLB_ORDER_IN_ORDER, DLB_ORDER_ANY };
enum dlb_read_io { DLB_READ_SYNC, DLB_READ_URING, DLB_READ_AUTO };
extern const char *const dlb_read_io_names[];
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
    double timeout_s; /* longest wait for one batch; 0: no limit */
    int transport;    /* enum dlb_transport: slots are reused, or each batch's memory is new */
    int bind;         /* enum dlb_bind */
    int io;           /* enum dlb_read_io: one read after the other, many at once, or the faster */
    int64_t io_depth; /* unless DLB_READ_SYNC: reads of each worker in flight, at most */
    bool direct;      /* read past the page cache (O_DIRECT), as dataset.access = "direct" */
    double sample_sleep_us; /* planted waiting per sample: for demonstrations and tests */
    double sample_spin_us;  /* planted computing per sample */
    double worker_init_ms, worker_init_mb; /* planted: an expensive Dataset constructor */
};
extern const struct dlb_opt_group dlb_loader_group;

struct dlb_shuffled;    /* sampler.h */
struct dlb_python_opts; /* python.h */

/* Everything a loader needs; borrowed for the loader's life. */
struct dlb_job {
    const struct dlb_dataset *dataset;
    const struct dlb_loader_opts *opts;
    const struct dlb_topo *topo; /* NULL: no placement */
    uint32_t rank, world;
    uint32_t n_loaders; /* in this process, each with num_workers workers; 0 counts as 1 */
    uint32_t nth;       /* of them */
    uint32_t
        first_worker; /* number of its first worker among those of all loaders: for placement */
    uint64_t seed;
    struct dlb_shuffled *order; /* shared by the loaders of a process; NULL: each has its own */
    uint32_t
        device_prefetch;     /* slots that a device may hold, beside the one that is being copied */
    uint32_t n_others;       /* devices that share this loader, beside the first */
    bool checksum;           /* hash each sample's payload */
    struct dlb_trace *trace; /* where workers record what they do; NULL: nowhere */
    const atomic_bool *cancel; /* read before every sample that next() itself loads; may be NULL */
    /* Signalled with every batch that becomes ready and with every failure. A consumer of several
     * loaders calls their next() with a timeout of 0 and sleeps on this event. It lies in memory
     * that worker processes share. NULL: the consumer waits inside next(). */
    struct dlb_event *ready;
    struct dlb_pulse
        *pulse; /* signed while workers make progress; says when to give up; may be NULL */
    /* For a loader that runs another program (loaders/torch): */
    const struct dlb_python_opts *python;
    const json_t *settings; /* of the cell: an object of dotted keys */
    const char *scratch;    /* a folder to write to; NULL: /tmp */
    bool ceiling;           /* batches are to be ready at once: one, again and again */
};

/* Iterable data are split by rank, then by worker. Of all loaders of this process: how many shards
 * they have, and how many of their workers have at least one. */
struct dlb_job_share {
    uint64_t n_shards, n_busy;
};
struct dlb_job_share dlb_job_share(const struct dlb_job *job);

/* What the workers of all loaders of this process allocate for themselves, as far as it can be
 * known: worker_init_mb, shuffle buffers full of samples of the mean size, and what each one's
 * reader unpacks at once (without workers, that of each loader). Of the data set it looks at the
 * shape alone. */
struct dlb_job_memory {
    double init_bytes, shuffle_bytes, readers_bytes;
};
struct dlb_job_memory dlb_job_memory(const struct dlb_job *job);

/* A batch: bytes plus offsets, so that samples may have any sizes. Borrowed until release. */
struct dlb_batch {
    const uint8_t *data;
    size_t n_bytes;
    uint32_t n_samples; /* without the skipped ones */
    uint32_t n_skipped;
    const uint64_t *index; /* [n_samples] number in the data set; NULL: the batch is elsewhere, and
                              data and the arrays below are NULL too */
    const uint64_t *offset_bytes; /* [n_samples + 1] into data */
    const uint32_t *label;        /* [n_samples] */
    /* Only with job->checksum: */
    const uint64_t *hash; /* [n_samples] of each payload, or of what a device is to make of it; NULL
                             without checksum */
    uint64_t payload_hash; /* of all payloads as the worker placed them; equals dlb_hash64(data,
                              n_bytes, 0) unless a sample was overwritten since */
    uint64_t made_hash;    /* with an augment: of what the device is to make of the batch, each
                              sample hashed with the hash so far as seed */
    uint64_t seq;          /* 0, 1, ... within the epoch, in order of delivery */
    uint64_t number;       /* within the epoch, as its worker counts: what traces call it */
    uint64_t ready_ns;     /* when it could be taken (core/base/clock.h) */
    uint64_t taken_ns;     /* dlb_loader.elsewhere: when it was returned there; its copy follows */
    uint64_t copied_ns;    /* dlb_loader.elsewhere: and ended */
    bool late;             /* dlb_loader.elsewhere: it was not ready when it was asked for */
    uint32_t worker, slot;
};

/* The memory of a loader's slots. */
struct dlb_memory {
    void *addr; /* the slots that batches are delivered in: the memory to pin */
    size_t n_bytes;
    size_t slots_bytes; /* of all slots, these included */
    bool huge;
    bool shared; /* between processes; then one process's Pss shows only its part of it */
};

#define DLB_MAX_SKIPPED_NAMED 16
#define DLB_UNFORESEEN UINT64_MAX /* it depends on what happens until then */

/* How workers read in the end. */
struct dlb_io_used {
    uint32_t n_uring, n_sync; /* starts of workers that asked for io_uring and got it, or did not */
    uint32_t n_undecided;     /* of DLB_READ_AUTO: ended before they had chosen, and used both */
    uint32_t n_registered;    /* with buffers that are registered with the kernel */
    char reason[160];         /* why the first of n_sync did not get it, or the first of all chose
                                 as it did */
};

struct dlb_loader_stats {
    struct dlb_worker_meters workers; /* of all workers together, over the whole run */
    struct dlb_worker_meters window;  /* the part of it within the measured window: whole batches
                                         that were begun within it (loaders/worker/report.h) */
    uint64_t runqueue_ns;     /* summed over workers, within the window; DLB_NOT_MEASURED without
                                 /proc/.../schedstat */
    struct dlb_os_process os; /* summed over worker processes; zeros for threads, whose use is in
                                 the process's own account */
    uint64_t private_bytes;   /* anonymous memory that worker processes added, all together, without
                                 the parent's pages that they wrote to; 0 for threads */
    uint64_t order_wait_ns;   /* time within the window that the consumer waited for one worker
                                 while another worker's batch was ready */
    struct dlb_io_used io;
    uint32_t n_skipped_named;
    struct dlb_err skipped[DLB_MAX_SKIPPED_NAMED];
};

struct dlb_loader {
    const char *name, *summary;
    const char *missing;
    size_t state_bytes; /* the core allocates it, zeroed, 64-byte aligned */

    /* Maps slots, and forks the fork server. Call it before any thread, CUDA, NVML or MPI. */
    int (*start)(void *ld, const struct dlb_job *job, struct dlb_err *err);
    void (*memory)(void *ld, struct dlb_memory *out);
    /* Sets the epoch's order, and creates the workers unless persistent ones exist. */
    int (*begin_epoch)(void *ld, uint32_t epoch, struct dlb_err *err);
    /* The next batch. DLB_END at the epoch's end. DLB_OK with *got == false: timeout_ns passed
     * without a batch. */
    int (*next)(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                struct dlb_err *err);
    /* Batches are in another process, which copies each of them once, as a copy from pageable
     * memory does, before next() returns it: the device copies nothing. */
    bool elsewhere;
    /* When the consumer will ask for the batch after the one that its next call of next() asks for:
     * a time of core/base/clock.h; 0: as soon as it has that one; DLB_UNFORESEEN. A loader of
     * another process need not wait for that question then. Before each call of next(). NULL:
     * nothing is asked before it is wanted. */
    void (*foresee)(void *ld, uint64_t asks_ns);
    /* The measured window opens, or closes; with several devices at one loader, that of any. NULL:
     * nothing is measured. */
    void (*measure)(void *ld, bool opens);
    /* The batch was copied (DLB_COPIED): its slot may be filled again. */
    void (*release)(void *ld, const struct dlb_batch *batch);
    /* Tells workers to leave, and returns at once. With several loaders, call it for all before the
     * first stop. NULL: no workers. */
    void (*dismiss)(void *ld);
    /* Dismisses, then joins or reaps all workers. Idempotent. It takes a limited time from the
     * dismissal on: DLB_E_WORKER when a worker does not end. */
    int (*stop)(void *ld, struct dlb_err *err);
    void (*stats)(void *ld, struct dlb_loader_stats *out); /* adds to *out; after stop */
    /* Of another program that loads: what it is and what it measured (`python` of
     * summary.schema.json). After dismiss; new reference. NULL: no other program. */
    json_t *(*describe)(void *ld);
    void (*close)(void *ld); /* frees memory; after stop, or after a failed start */
};

extern const struct dlb_loader
    *const dlb_loaders[]; /* ends with NULL; in the order of loaders.def */

/* The loader that opts->kind means. NULL, with DLB_E_CONFIG in *err, when options contradict each
 * other (threads with 0 workers, ...). */
const struct dlb_loader *dlb_loader_choose(const struct dlb_loader_opts *opts, struct dlb_err *err);

/* DLB_E_CONFIG when loader.io asks for reads that the format does not support. `access` is
 * dataset.access. */
int dlb_loader_check_reads(const struct dlb_loader_opts *opts, const struct dlb_format *format,
                           int access, bool iterable, struct dlb_err *err);

#endif
