/* The consumer: the training loop of one accelerator, or of several in one thread. It takes batches
 * from loaders, hands them to devices, and accounts for every nanosecond.
 *
 * Floor 3. One thread, which owns loaders and devices.
 *
 * The window runs from the start of the first measured step to the start of the step after the last
 * measured one, on the device's clock and across epochs: N steps over N intervals, in whole rounds
 * of the workers (window.h).
 *
 * With several accelerators each has its own window and its own place in the loop (accelerator.h).
 * The thread advances each one that can go on, then sleeps until the earliest step ends or a batch
 * is ready. All share the epochs: the next one begins when all have ended the last one. An
 * accelerator that has measured its max_batches trains on, unmeasured, until all have, those of
 * other ranks, too: otherwise the last ones would be measured with less competition. */
#ifndef DLB_LOADERS_TRAIN_CONSUMER_H
#define DLB_LOADERS_TRAIN_CONSUMER_H

#include "core/base/err.h"
#include "core/base/futex.h"
#include "core/base/live.h"
#include "core/measure/au.h"
#include "core/measure/meters.h"
#include "core/measure/pace.h"
#include "core/measure/trace.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"
#include "loaders/meet.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One accelerator: a device, and the loader that feeds it. */
struct dlb_feed {
    void *loader_state; /* started; the same for all accelerators that share one loader */
    void *device_state; /* opened */
};

struct dlb_consume {
    const struct dlb_loader *loader;
    const struct dlb_device *device;
    const struct dlb_feed *feeds; /* [n_feeds]; with `ready` a device with `due` is needed */
    uint32_t n_feeds;
    struct dlb_event *ready; /* signalled by the loaders (dlb_job.ready), and by `meet`; NULL: one
                                feed, without a barrier */
    bool barrier;            /* all steps k end before any step k + 1 starts, on other ranks, too */
    bool cold;               /* data that were not read yet: no epoch begins only to train on */
    struct dlb_meet *meet;   /* other ranks; NULL: there are none */
    uint32_t device_prefetch;
    uint32_t n_epochs;
    uint64_t max_batches;    /* that each accelerator measures, to which the rest of the last round
                                is added; 0: all batches of the epochs, whole rounds of them */
    uint64_t warmup_batches; /* first batches of each accelerator, which are not measured */
    uint32_t round;     /* batches of a round (core/measure/pace.h) for each accelerator; at least 1
                         */
    uint32_t n_workers; /* of a loader; at least 1 */
    double n_epoch_batches; /* of each accelerator; NaN: not known */
    uint64_t n_samples;     /* of the data set: the size of the exactly-once bitmap */
    uint64_t expected;      /* samples that an epoch should deliver: these ranks' shares, less what
                               drop_last drops; 0: not known */
    uint64_t padded;        /* of these, those that another of these ranks delivers too */
    double host_ns; /* CPU time that the loop's thread spends on each step; 0 with several feeds */
    double step_ns; /* that device.step_ms asks for; for the nominal utilisation */
    bool checksum;  /* compare the payload hashes of devices and workers */
    const struct dlb_augment *augment; /* what the devices were opened with; may be NULL */
    _Atomic uint64_t *heartbeat;       /* batches so far, for a process that watches; may be NULL */
    struct dlb_live *live;             /* what a view shows; may be NULL */
    const atomic_bool *cancel;         /* may be NULL */
    const struct dlb_trace *trace;     /* where loop and devices record; may be NULL */
};

#define DLB_MAX_EPOCHS_KEPT 1000

struct dlb_epoch {
    uint64_t n_samples, n_unique, n_expected, n_padded;
    uint64_t n_skipped; /* with on_error = "skip"; the rest of a broken shard is not counted */
    uint64_t n_bytes;
    uint64_t set_checksum; /* sum over samples of a hash of index and payload hash (with checksum):
                              independent of the order */
    uint64_t seq_checksum; /* the same hashes chained in order; of several accelerators, chained
                              one after the other */
    uint64_t first_batch_ns; /* from begin_epoch to the first batch in hand; of several, the last */
    uint64_t gap_ns; /* device idle between the last step of the epoch before and this one's first;
                        0 for the first epoch; of several, the longest */
    uint64_t wall_ns;
    bool ended; /* it ran to its end: not cut by max_batches or an interrupt */
    bool whole; /* ... and delivered all that it should: nothing was skipped */
};

/* The window and the account of one accelerator, or of all (dlb_consumed.total). */
struct dlb_share {
    uint64_t n_steps, n_samples, n_bytes;                /* measured */
    uint64_t window_ns;                                  /* 0: no complete window */
    uint64_t busy_ns;                                    /* compute within the window */
    uint64_t idle_input_ns, idle_copy_ns, idle_other_ns; /* busy + these = window */
    uint64_t late_copy_ns;   /* part of idle_copy: the loader was late with the batch and no copy
                                delayed it; without copies it would have come no earlier */
    uint64_t epoch_idle_ns;  /* part of all idle time: across epoch boundaries */
    uint64_t epoch_other_ns; /* part of idle_other: across epoch boundaries */
    uint64_t wall_ns;        /* of the measured loop */
    uint64_t unaccounted_ns; /* wall_ns less the consumer's stages over the same span */
    struct dlb_au au;
};

#define DLB_SHARES_KEPT 16

/* Adds the order of one more accelerator or rank to an epoch's order, which chains those of all. */
uint64_t dlb_tally_chain(uint64_t epoch_order, uint64_t order);

/* What several accelerators did together, as in dlb_consumed.total; without total->au. `of`: of how
 * many accelerators each is the total; NULL: of one. */
void dlb_shares_add_up(const struct dlb_share *each, const uint32_t *of, uint32_t n,
                       struct dlb_share *total);

/* Counts as they are, over a window of another length, of which the parts are as large. */
void dlb_share_stretch(struct dlb_share *share, uint64_t window_ns);

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
    struct dlb_pace pace;                    /* of all, added up */
    struct dlb_share share[DLB_SHARES_KEPT]; /* of the first accelerators */
    uint32_t n_epochs;                       /* begun; the first DLB_MAX_EPOCHS_KEPT are kept */
    struct dlb_epoch epoch[DLB_MAX_EPOCHS_KEPT];
};

/* Runs the loop. After DLB_E_CANCELLED and after errors *out holds what was measured so far. *out
 * is large: allocate it. */
int dlb_consume(const struct dlb_consume *how, struct dlb_consumed *out, struct dlb_err *err);

#endif
