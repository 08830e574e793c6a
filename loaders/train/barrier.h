/* The barrier of data-parallel training: step k + 1 starts on no accelerator before step k has
 * ended on all.
 *
 * Floor 3. One thread, which drives them all. Nobody sleeps at it: on a virtual timeline the end of
 * a step is known when it is handed to the device, so that the next one can be handed over as soon
 * as all have handed over theirs. */
#ifndef DLB_LOADERS_TRAIN_BARRIER_H
#define DLB_LOADERS_TRAIN_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_barrier {
    uint32_t n_members; /* who still has batches in this epoch */
    uint32_t n_passed;  /* of them, in this round */
    uint64_t round;
    uint64_t end_ns, last_end_ns; /* latest end of this round's steps so far, and of the last's */
    uint64_t input_ns, last_input_ns; /* of the round, what that latest one waited for its batch */
};

/* Everybody comes in at an epoch's start, at round 0 of it; all steps of the last one end first. */
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

/* Whose step of this round ends at end_ns, and who waited for its batch from asked_ns to ready_ns.
 */
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

/* Who has no more batches in this epoch; `passed`: this round's step was handed over. */
static inline void dlb_barrier_leave(struct dlb_barrier *barrier, bool passed)
{
    barrier->n_members--;
    barrier->n_passed -= passed;
    dlb_barrier_turn(barrier);
}

#endif
