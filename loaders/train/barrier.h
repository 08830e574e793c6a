/* The barrier of data-parallel training: no accelerator starts step k + 1 before step k has ended
 * on all.
 *
 * Floor 3. One thread, which drives all accelerators. It never sleeps here: on a virtual timeline
 * the end of a step is known when the step is handed to the device. So the next step can be handed
 * over as soon as all accelerators have handed over theirs. */
#ifndef DLB_LOADERS_TRAIN_BARRIER_H
#define DLB_LOADERS_TRAIN_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_barrier {
    uint32_t n_members; /* accelerators that still have batches in this epoch */
    uint32_t n_passed;  /* of them, those that have handed over this round's step */
    uint64_t round;
    uint64_t end_ns, last_end_ns; /* latest end of a step: in this round so far, in the last one */
    uint64_t input_ns, last_input_ns; /* how long that latest step waited for its batch */
};

/* An epoch starts: all accelerators are members again, at round 0. Its first steps start when all
 * steps of the last epoch have ended. */
static inline void dlb_barrier_reset(struct dlb_barrier *barrier, uint32_t n_members)
{
    barrier->n_members = n_members;
    barrier->n_passed = 0;
    barrier->round = 0;
    barrier->last_end_ns = barrier->end_ns;
    barrier->last_input_ns = 0;
}

static inline void dlb_barrier_turn(struct dlb_barrier *barrier)
{
    if (barrier->n_members == 0 || barrier->n_passed < barrier->n_members)
        return;
    barrier->n_passed = 0;
    barrier->round++;
    barrier->last_end_ns = barrier->end_ns;
    barrier->last_input_ns = barrier->input_ns;
}

/* A member hands over its step of this round. It waited for the batch from asked_ns to ready_ns,
 * and the step ends at end_ns. */
static inline void dlb_barrier_pass(struct dlb_barrier *barrier, uint64_t asked_ns,
                                    uint64_t ready_ns, uint64_t end_ns)
{
    if (end_ns >= barrier->end_ns) {
        uint64_t from_ns = asked_ns > barrier->last_end_ns ? asked_ns : barrier->last_end_ns;
        barrier->end_ns = end_ns;
        barrier->input_ns = ready_ns > from_ns ? ready_ns - from_ns : 0;
    }
    barrier->n_passed++;
    dlb_barrier_turn(barrier);
}

/* A member has no more batches in this epoch; `passed`: it has handed over this round's step. */
static inline void dlb_barrier_leave(struct dlb_barrier *barrier, bool passed)
{
    barrier->n_members--;
    barrier->n_passed -= passed;
    dlb_barrier_turn(barrier);
}

#endif
