/* Converts the times of a GPU's events to CLOCK_MONOTONIC.
 *
 * Floor 3. Consumer thread; a struct belongs to its caller; pure. The driver tells the milliseconds
 * between two events as a float. Its resolution is half a microsecond up to 4 s, and coarser from
 * there. So events are measured from an anchor, an event whose time on the host's clock is known,
 * and the anchor moves on every second.
 *
 * The two clocks drift, by some 10 ppm. Each new anchor is recorded on an idle stream between two
 * looks at the host's clock: a bracket. Brackets tell where the anchor lies, and since the first
 * one how fast the GPU's clock runs. Besides, an event cannot be earlier than the call that
 * recorded it, nor later than the moment when it was seen complete. A stamp that breaks such a
 * bound moves the anchor by the difference. Bounds alone do not do: the end of a step may be seen
 * long after it, while the GPU waits for its next batch. */
#ifndef DLB_LOADERS_DEVICE_CUDA_GPU_CLOCK_H
#define DLB_LOADERS_DEVICE_CUDA_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_gpu_clock {
    uint64_t anchor_ns;            /* the anchor event's time */
    uint64_t error_ns;             /* of the first anchor: half of its bracket */
    uint64_t first_ns;             /* of the first anchor */
    double gpu_ns;                 /* the GPU's time from the first anchor to this one */
    double rate;                   /* nanoseconds of the host in one of the GPU */
    uint64_t narrowest_ns;         /* width of the best bracket after the first */
    uint32_t n_brackets, n_narrow; /* all of them; those that set clock and rate */
};

/* The first anchor was recorded after before_ns and seen complete at after_ns. Its time is taken as
 * the middle of the two. */
void dlb_gpu_clock_anchor(struct dlb_gpu_clock *clock, uint64_t before_ns, uint64_t after_ns);

/* Time of an event `ms` after the anchor (before it, when negative). */
uint64_t dlb_gpu_clock_at(const struct dlb_gpu_clock *clock, float ms);

/* Moves the anchor so that an event `ms` after it lies within [from_ns, to_ns], from_ns winning. */
void dlb_gpu_clock_bound(struct dlb_gpu_clock *clock, float ms, uint64_t from_ns, uint64_t to_ns);

/* Whether a bracket is about as narrow as the first one was. */
bool dlb_gpu_clock_is_narrow(const struct dlb_gpu_clock *clock, uint64_t before_ns,
                             uint64_t after_ns);

/* An event `ms` after the anchor was recorded on an idle stream after before_ns and seen complete
 * at after_ns. A narrow bracket sets clock and rate by its middle. In a run no bracket may be as
 * narrow as the first one, which had an idle GPU. So one does, too, that is about as narrow as the
 * best one of the run, and nothing beside the GPU's time since the first. Others bound the clock.
 */
void dlb_gpu_clock_bracket(struct dlb_gpu_clock *clock, float ms, uint64_t before_ns,
                           uint64_t after_ns);

/* The event `ms` after the anchor is the anchor from now on. */
void dlb_gpu_clock_move(struct dlb_gpu_clock *clock, float ms);

/* By how much the host's clock has gained on the GPU's since the first anchor. */
int64_t dlb_gpu_clock_shift_ns(const struct dlb_gpu_clock *clock);

#endif
