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
 * Intervals count when their round is whole (span.h). Those of a round that the run's end cuts are
 * left out, unless there is no whole one.
 *
 * Idle time at a barrier has the reason of the accelerator that came last. While that one waited
 * for its batch it is idle_input, the rest is idle_other. */
#ifndef DLB_LOADERS_TRAIN_WINDOW_H
#define DLB_LOADERS_TRAIN_WINDOW_H

#include "core/measure/au.h"
#include "core/measure/pace.h"
#include "loaders/device/device.h"
#include "loaders/train/consumer.h"
#include "loaders/train/span.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_step {
    enum dlb_mark mark;
    uint32_t worker; /* that loaded its batch */
    uint64_t nth;    /* number in the epoch */
    struct dlb_dev_times times;
    uint64_t ready_ns;                   /* the batch was ready to be taken */
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

/* What a step and the interval behind it add to the window, until its round is whole. */
struct dlb_interval {
    struct dlb_stretch stretch; /* of one step */
    uint64_t n_bytes, compute_ns, copy_ns, epoch_idle_ns, epoch_other_ns;
    uint64_t lead_ns; /* how long the batch lay ready */
};

struct dlb_window {
    bool any, open, closed;
    uint64_t start_ns; /* of the first measured step; the share's window_ns follow without a gap */
    struct dlb_step last;
    struct dlb_interval *pending; /* [2 round] owned */
    uint32_t n_pending;
    uint64_t round_at;        /* the place of the last whole round's end ... */
    uint32_t round_epoch;     /* ... and its epoch */
    uint64_t place;           /* where the window opened in its epoch */
    struct dlb_stretch cycle; /* since the step of that place */
    uint64_t *ready_ns;       /* [n_workers] of each worker's last batch in this epoch; 0: none;
                                 owned */
    uint32_t n_workers;
    struct dlb_rounds rounds; /* within epochs */
    struct dlb_moments batch_ns;
    double lead_first_ns, lead_last_ns; /* how long batches lay ready before they were taken: mean
                                           over the first and the last whole round */
    double lead_steps_ns2;              /* sum of squared changes of it from round to round */
    uint32_t n_lead_steps;
    struct dlb_share share;
    struct dlb_pace pace;
    struct dlb_au_epoch epoch; /* the current one */
    double step_ns;            /* that device.step_ms asks for */
    uint32_t n_epochs;         /* whose utilisations are summed in share.au */
};

struct dlb_window_opts {
    uint32_t round;     /* batches of a round; at least 1 */
    uint32_t n_workers; /* ids in struct dlb_step are below; at least 1 */
    double n_epoch_batches;
    double step_ns;
};

/* Allocates; dlb_window_free. */
void dlb_window_open(struct dlb_window *window, const struct dlb_window_opts *opts);

/* Takes the next step in order, with its final stamps. It completes the interval of the step
 * before. Whole rounds are added to the window's share and to the histograms of *out. */
void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out);

/* After the last step: turns the sums in share.au into means. Adds to *out what is pending, if no
 * round was whole. */
void dlb_window_close(struct dlb_window *window, struct dlb_consumed *out);
void dlb_window_free(struct dlb_window *window);

#endif
