/* The measured window on the device's clock: what compute did, and why it did not.
 *
 * Floor 3. The consumer's thread, step by step in order; pure arithmetic.
 *
 * The window runs from the start of the first measured step to the start of the step after the last
 * measured one. Between the end of one step and the start of the next the device is idle, for want
 * of what the next step needs: idle_input: the consumer was inside next() for that step's batch,
 *   for ones before it of which all samples were skipped, or to learn that an epoch had ended,
 *   exposed_copy: that batch's copy ran,
 *   idle_other: neither, so the host was late: scheduling, oversleep, epoch start.
 * A step that a barrier held is idle for the reasons of whoever came last: for as long as that one
 * waited for its batch it is input, the rest is other. */
#ifndef DLB_LOADERS_TRAIN_WINDOW_H
#define DLB_LOADERS_TRAIN_WINDOW_H

#include "core/measure/au.h"
#include "loaders/device/device.h"
#include "loaders/train/consumer.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_step {
    struct dlb_dev_times times;
    uint64_t wait_start_ns, wait_end_ns; /* next() called, batch in hand */
    bool late;                           /* the batch was not there when it was asked for */
    uint64_t over_start_ns, over_end_ns; /* next() called, no more batches in the epoch before */
    uint64_t n_samples, n_bytes;
    uint32_t epoch;
    bool first_of_epoch;
    uint64_t held_until_ns; /* by a barrier; 0: by none */
    uint64_t held_input_ns; /* what whoever held it had waited for a batch */
};

struct dlb_window {
    uint64_t n_seen, n_warmup; /* steps */
    uint64_t n_max; /* steps after which the window is closed; UINT64_MAX: with the last one */
    uint64_t start_ns;
    struct dlb_step last;
    struct dlb_share share;
    struct dlb_au_epoch epoch; /* the one that is under way */
    double step_ns;            /* asked for */
    uint32_t n_epochs;         /* whose utilisations are summed in share.au */
};

/* max_batches: 0: no limit. */
void dlb_window_open(struct dlb_window *window, uint64_t n_warmup, uint64_t max_batches,
                     double step_ns);

/* The next step in order, with its final stamps; adds what it completes to the window's share, and
 * to the tables of *out. */
void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out);

/* After the last step: makes share.au what it means. */
void dlb_window_close(struct dlb_window *window);

#endif
