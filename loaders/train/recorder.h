/* Records one accelerator's part of the timeline: batches as they are taken, copies, steps, and why
 * the device was idle between steps. Its thread's own time is recorded by account.h.
 *
 * Floor 3, private to loaders/train. The consumer's thread. Without a trace nothing is done. */
#ifndef DLB_LOADERS_TRAIN_RECORDER_H
#define DLB_LOADERS_TRAIN_RECORDER_H

#include "core/measure/trace.h"
#include "loaders/loader.h"
#include "loaders/train/window.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_recorder {
    struct dlb_trace_ring *loop, *copy, *compute;
    struct dlb_step last;
    bool any; /* there was a step */
};

/* `nth`: of the accelerators. */
void dlb_recorder_open(struct dlb_recorder *recorder, const struct dlb_trace *trace, uint32_t nth);

/* The loop's next records belong to this batch; NULL: to none. */
void dlb_recorder_at(struct dlb_recorder *recorder, uint32_t epoch, const struct dlb_batch *batch);

/* next() returned the batch. */
void dlb_recorder_taken(struct dlb_recorder *recorder, const struct dlb_step *step,
                        const struct dlb_batch *batch);

/* The step of the batch has ended, with its final stamps. */
void dlb_recorder_stepped(struct dlb_recorder *recorder, const struct dlb_step *step,
                          const struct dlb_batch *batch);

/* Which part was measured. */
void dlb_recorder_close(struct dlb_recorder *recorder, const struct dlb_window *window);

#endif
