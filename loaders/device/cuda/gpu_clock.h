/* Converts the times of a GPU's events to CLOCK_MONOTONIC.
 *
 * Floor 3. Consumer thread; a struct belongs to its caller; pure. The driver tells the milliseconds
 * between two events as a float. Its resolution is half a microsecond up to 4 s, and coarser from
 * there. So events are measured from an anchor, an event whose time on the host's clock is known,
 * and the anchor moves on every few seconds.
 *
 * The two clocks drift. An event cannot be earlier than the call that recorded it, nor later than
 * the moment when it was seen complete. A stamp that breaks such a bound moves the anchor by the
 * difference. */
#ifndef DLB_LOADERS_DEVICE_CUDA_GPU_CLOCK_H
#define DLB_LOADERS_DEVICE_CUDA_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_gpu_clock {
    uint64_t anchor_ns; /* the anchor event's time */
    uint64_t error_ns;  /* its uncertainty: half of the span that it lies in */
    int64_t shift_ns;   /* sum of all moves: drift over the run */
};

/* The anchor event was recorded after before_ns and seen complete at after_ns. Its time is taken as
 * the middle of the two. */
void dlb_gpu_clock_anchor(struct dlb_gpu_clock *clock, uint64_t before_ns, uint64_t after_ns);

/* Time of an event `ms` after the anchor (before it, when negative). */
uint64_t dlb_gpu_clock_at(const struct dlb_gpu_clock *clock, float ms);

/* Moves the anchor so that an event `ms` after it lies within [from_ns, to_ns], from_ns winning. */
void dlb_gpu_clock_bound(struct dlb_gpu_clock *clock, float ms, uint64_t from_ns, uint64_t to_ns);

/* Whether an event `ms` after the anchor should be the next anchor. */
bool dlb_gpu_clock_is_far(float ms);

/* The event `ms` after the anchor is the anchor from now on. */
void dlb_gpu_clock_move(struct dlb_gpu_clock *clock, float ms);

#endif
