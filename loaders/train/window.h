/* The measured window on the device's clock: when the device computed, and why it was idle.
 *
 * Floor 3. The consumer's thread, step by step in order; pure arithmetic.
 *
 * The window runs from the start of the first measured step to the start of the step after the last
 * measured one. Between the end of one step and the start of the next the device is idle, because
 * the next step lacks something:
 *
 *   idle_input    the consumer was inside next(): for that step's batch, for earlier batches
 *                 whose samples were all skipped, or to learn that an epoch had ended
 *   exposed_copy  that step's batch was being copied
 *   idle_other    neither: the host was late (scheduling, oversleep, start of an epoch)
 *
 * Idle time at a barrier has the reason of the accelerator that came last. While that one waited
 * for its batch it is idle_input, the rest is idle_other. */
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
    bool late;                           /* the batch was not ready when it was requested */
    uint64_t over_start_ns,
        over_end_ns; /* the next() that ended the epoch before: called, returned */
    uint64_t n_samples, n_bytes;
    uint32_t epoch;
    bool first_of_epoch;
    uint64_t held_until_ns; /* by a barrier; 0: by none */
    uint64_t held_input_ns; /* how long the accelerator that came last had waited for its batch */
};

struct dlb_window {
    uint64_t n_seen, n_warmup; /* steps */
    uint64_t n_max; /* steps after which the window is closed; UINT64_MAX: with the last one */
    uint64_t start_ns;
    struct dlb_step last;
    struct dlb_share share;
    struct dlb_au_epoch epoch; /* the current one */
    double step_ns;            /* that device.step_ms asks for */
    uint32_t n_epochs;         /* whose utilisations are summed in share.au */
};

/* max_batches: 0: no limit. */
void dlb_window_open(struct dlb_window *window, uint64_t n_warmup, uint64_t max_batches,
                     double step_ns);

/* Takes the next step in order, with its final stamps. It completes the interval of the step
 * before, which is added to the window's share and to the histograms of *out. */
void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out);

/* After the last step: turns the sums in share.au into means. */
void dlb_window_close(struct dlb_window *window);

#endif
