/* The consumer: the training loop of one accelerator, or of many in one thread. It takes batches,
 * hands them to the devices, and accounts for every nanosecond.
 *
 * Floor 3. One thread, which owns loaders and devices. The window runs from the start of the first
 * measured step to the start of the step after the last measured one, on the device's clock and
 * across epoch boundaries: N steps over N intervals.
 *
 * Many accelerators: each has a window and a place in its training loop of its own (accelerator.h);
 * the thread goes to whoever can go on, and sleeps until the earliest of their steps ends or a
 * batch is ready. Epochs are common: the next one begins when all have ended the last one. Who has
 * measured its max_batches trains on, unmeasured, until all have, so that nobody is measured while
 * others have left. */
#ifndef DLB_LOADERS_TRAIN_CONSUMER_H
#define DLB_LOADERS_TRAIN_CONSUMER_H

#include "core/base/err.h"
#include "core/base/futex.h"
#include "core/measure/au.h"
#include "core/measure/meters.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What one accelerator is made of. */
struct dlb_feed {
    void *loader_state; /* started; the same in all where they share one loader */
    void *device_state; /* opened */
};

struct dlb_consume {
    const struct dlb_loader *loader;
    const struct dlb_device *device;
    const struct dlb_feed *feeds; /* [n_feeds]; several need a device with `due` */
    uint32_t n_feeds;
    struct dlb_event *ready; /* what the loaders signal (dlb_job.ready); several feeds only */
    bool barrier;            /* several feeds: all steps k end before any step k + 1 starts */
    uint32_t device_prefetch;
    uint32_t n_epochs;
    uint64_t max_batches;    /* measured batches of each accelerator; 0: all of the epochs */
    uint64_t warmup_batches; /* first batches of each in the run that are not measured */
    uint64_t n_samples;      /* of the data set: size of the exactly-once bitmap */
    uint64_t expected;       /* samples that an epoch should deliver (the ranks' shares, drop_last
                                taken off) */
    uint64_t padded;         /* of these: that another of these ranks delivers too */
    double step_ns;          /* asked for; for the nominal utilisation */
    bool checksum;           /* compare payload hashes of the device with the workers' */
    const struct dlb_augment *augment; /* what the devices were opened with; may be NULL */
    _Atomic uint64_t *heartbeat;       /* batches so far, for who watches; may be NULL */
    const atomic_bool *cancel;         /* may be NULL */
};

#define DLB_MAX_EPOCHS_KEPT 1000

struct dlb_epoch {
    uint64_t n_samples, n_unique, n_expected, n_padded;
    uint64_t n_skipped; /* with on_error = "skip"; the rest of a broken shard is not in here */
    uint64_t n_bytes;
    uint64_t set_checksum; /* sum over samples of a hash of (index, payload hash if asked for): free
                              of order */
    uint64_t seq_checksum; /* the same, chained: of the order; of many, each one's, chained */
    uint64_t first_batch_ns; /* begin_epoch called to first batch in hand; of many, the last's */
    uint64_t gap_ns; /* device idle before the epoch's first step, from the last epoch's last step
                        on; 0 for the first; of many, the longest */
    uint64_t wall_ns;
    bool whole; /* ran to its end, not cut by max_batches or an interrupt */
};

/* The window and the account of one accelerator, or of all (dlb_consumed.total). */
struct dlb_share {
    uint64_t n_steps, n_samples, n_bytes;                /* measured */
    uint64_t window_ns;                                  /* 0: no complete window */
    uint64_t busy_ns;                                    /* compute within the window */
    uint64_t idle_input_ns, idle_copy_ns, idle_other_ns; /* busy + these = window */
    uint64_t late_copy_ns;   /* part of idle_copy: the loader was late with the batch, and no copy
                                was in its way; without copies the next would be no earlier */
    uint64_t epoch_idle_ns;  /* part of idle that lies across epoch boundaries */
    uint64_t epoch_other_ns; /* likewise, of idle_other */
    uint64_t wall_ns;        /* over the measured loop */
    uint64_t unaccounted_ns; /* wall - sum of the consumer's stages over the same span */
    struct dlb_au au;
};

#define DLB_SHARES_KEPT 16

/* What all accelerators did together. With many, counts and stages are sums, and times are those of
 * a mean accelerator: total.n_samples / total.window_ns is the sum of their rates, each part of
 * total.window_ns is the mean of their fractions, and total.au is the mean. */
struct dlb_consumed {
    struct dlb_share total;
    struct dlb_au lowest;                   /* the smallest of each utilisation */
    uint64_t cpu_ns;                        /* of the consumer's thread, warm-up included */
    struct dlb_hist consumer[DLB_CS_COUNT]; /* over the measured loop */
    struct dlb_hist device[DLB_DS_COUNT];   /* over the window */
    uint64_t n_checksum_mismatches;
    uint32_t n_accelerators;
    struct dlb_share share[DLB_SHARES_KEPT]; /* of the first ones */
    uint32_t n_epochs;                       /* begun; the first DLB_MAX_EPOCHS_KEPT are kept */
    struct dlb_epoch epoch[DLB_MAX_EPOCHS_KEPT];
};

/* Runs the loop. On DLB_E_CANCELLED and on errors *out holds what was measured so far. *out is
 * large: put it on the heap. */
int dlb_consume(const struct dlb_consume *how, struct dlb_consumed *out, struct dlb_err *err);

#endif
