/* Why a device was idle between two steps (window.h has the reasons), as pieces of that time.
 *
 * Floor 3, private to loaders/train. Pure. */
#ifndef DLB_LOADERS_TRAIN_IDLE_H
#define DLB_LOADERS_TRAIN_IDLE_H

#include "core/measure/meters.h"

#include <stdint.h>

struct dlb_step; /* window.h */

/* Four have a reason, with others before, between and behind them. */
#define DLB_IDLE_PIECES 9

struct dlb_idle {
    uint32_t n;
    struct dlb_idle_piece {
        uint64_t start_ns, end_ns;
        enum dlb_device_stage why; /* DLB_DS_IDLE_INPUT, DLB_DS_EXPOSED_COPY, DLB_DS_IDLE_OTHER */
    } piece[DLB_IDLE_PIECES];
};

/* The pieces fill the time from the end of `last` to the start of `step`, in order. */
struct dlb_idle dlb_idle_between(const struct dlb_step *last, const struct dlb_step *step);

/* How much of it has one reason. */
uint64_t dlb_idle_ns(const struct dlb_idle *idle, enum dlb_device_stage why);

#endif
