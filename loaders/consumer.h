/* The consumer: the training loop. It takes batches, hands them to the device, and accounts for
 * every nanosecond.
 *
 * Floor 3. One thread, which owns loader and device. The window runs from the start of the first
 * measured step to the start of the step after the last measured one, on the device's clock and
 * across epoch boundaries: N steps over N intervals. */
#ifndef DLB_LOADERS_CONSUMER_H
#define DLB_LOADERS_CONSUMER_H

#include "bench/base/err.h"
#include "bench/measure/meters.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_consume {
    const struct dlb_loader *loader;
    void *loader_state; /* started */
    const struct dlb_device *device;
    void *device_state; /* opened */
    uint32_t device_prefetch;
    uint32_t n_epochs;
    uint64_t max_batches;    /* measured batches; 0: all of the epochs */
    uint64_t warmup_batches; /* first batches of the run that are not measured */
    uint64_t n_samples;      /* of the data set: size of the exactly-once bitmap */
    uint64_t
        expected;  /* samples that an epoch should deliver (rank's share, drop_last taken off) */
    bool checksum; /* compare payload hashes of the device with the workers' */
    const struct dlb_augment *augment; /* what the device was opened with; may be NULL */
    _Atomic uint64_t *heartbeat;       /* batches so far, for who watches; may be NULL */
    const atomic_bool *cancel;         /* may be NULL */
};

#define DLB_MAX_EPOCHS_KEPT 1000

struct dlb_epoch {
    uint64_t n_samples, n_unique, n_expected;
    uint64_t n_bytes;
    uint64_t set_checksum; /* sum over samples of a hash of (index, payload hash if asked for): free
                              of order */
    uint64_t seq_checksum; /* the same, chained: of the order */
    uint64_t first_batch_ns; /* begin_epoch called to first batch in hand */
    uint64_t gap_ns; /* device idle before the epoch's first step, from the last epoch's last step
                        on; 0 for the first */
    uint64_t wall_ns;
    bool whole; /* ran to its end, not cut by max_batches or an interrupt */
};

struct dlb_consumed {
    uint64_t n_steps;                                    /* measured */
    uint64_t n_samples, n_bytes;                         /* delivered in the window */
    uint64_t window_ns;                                  /* 0: no complete window */
    uint64_t busy_ns;                                    /* compute within the window */
    uint64_t idle_input_ns, idle_copy_ns, idle_other_ns; /* busy + these = window */
    uint64_t wall_ns;        /* consumer's wall clock over the measured loop */
    uint64_t unaccounted_ns; /* wall - sum of the consumer's stages over the same span */
    uint64_t epoch_idle_ns;  /* part of idle that lies across epoch boundaries */
    uint64_t epoch_other_ns; /* likewise, of idle_other */
    struct dlb_hist consumer[DLB_CS_COUNT]; /* over the measured loop */
    struct dlb_hist device[DLB_DS_COUNT];   /* over the window */
    uint64_t n_checksum_mismatches;
    uint32_t n_epochs; /* begun; the first DLB_MAX_EPOCHS_KEPT are kept */
    struct dlb_epoch epoch[DLB_MAX_EPOCHS_KEPT];
};

/* Runs the loop. On DLB_E_CANCELLED and on errors *out holds what was measured so far. *out is
 * large: put it on the heap. */
int dlb_consume(const struct dlb_consume *how, struct dlb_consumed *out, struct dlb_err *err);

#endif
