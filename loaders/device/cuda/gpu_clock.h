/* From a GPU's events to CLOCK_MONOTONIC.
 *
 * Floor 3. Consumer thread; a struct belongs to its caller; pure. A driver tells how many
 * milliseconds lie between two events, as a float: half a microsecond is its resolution up to 4 s,
 * and it grows from there. So events are measured from an anchor, an event whose time on the
 * host's clock is known, and the anchor moves on every few seconds.
 *
 * The two clocks drift. An event cannot lie before the call that recorded it, nor after it was seen
 * complete: where a stamp breaks such a bound, the anchor is moved by what is missing. */
#ifndef DLB_LOADERS_DEVICE_CUDA_GPU_CLOCK_H
#define DLB_LOADERS_DEVICE_CUDA_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_gpu_clock {
    uint64_t anchor_ns; /* the anchor event's time */
    uint64_t error_ns;  /* half of the span that it was found in */
    int64_t shift_ns;   /* sum of all moves: drift over the run */
};

/* The anchor event was recorded after before_ns and seen complete at after_ns; between the two it
 * is taken to lie in the middle. */
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
