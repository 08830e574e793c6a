/* The measured window on the device's clock: what compute did, and why it did not.
 *
 * Floor 3. The consumer's thread, step by step in order; pure arithmetic.
 *
 * The window runs from the start of the first measured step to the start of the step after the last
 * measured one. Between the end of one step and the start of the next the device is idle, for want
 * of what the next step needs: idle_input: the consumer was inside next() for that step's batch,
 *   exposed_copy: that batch's copy ran,
 *   idle_other: neither, so the host was late: scheduling, oversleep, epoch start. */
#ifndef DLB_LOADERS_WINDOW_H
#define DLB_LOADERS_WINDOW_H

#include "loaders/consumer.h"
#include "loaders/device/device.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_step {
    struct dlb_dev_times times;
    uint64_t wait_start_ns, wait_end_ns; /* next() called, batch in hand */
    uint64_t n_samples, n_bytes;
    uint32_t epoch;
    bool first_of_epoch;
};

struct dlb_window {
    uint64_t n_seen, n_warmup; /* steps */
    uint64_t start_ns;
    struct dlb_step last;
};

void dlb_window_open(struct dlb_window *window, uint64_t n_warmup);

/* The next step in order, with its final stamps; adds to *out what it completes. */
void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out);

#endif
