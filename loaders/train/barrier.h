/* The barrier of data-parallel training: no accelerator starts step k + 1 before step k has ended
 * on all.
 *
 * Floor 3. One thread, which drives all accelerators. It never sleeps here: on a virtual timeline
 * the end of a step is known when the step is handed to the device. So the next step can be handed
 * over as soon as all accelerators have handed over theirs. With other ranks, the last end here is
 * told them; the round ends when all ranks have told theirs. Steps of all ranks meet in order,
 * whatever their epochs: one that has ended an epoch before others meets them with the first step
 * of its next, for which they wait. One that has ended its last epoch holds up nobody. */
#ifndef DLB_LOADERS_TRAIN_BARRIER_H
#define DLB_LOADERS_TRAIN_BARRIER_H

#include "loaders/meet.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_barrier {
    uint32_t n_members; /* accelerators that still have batches in this epoch */
    uint32_t n_passed;  /* of them, those that have handed over this round's step */
    uint64_t round;
    uint64_t end_ns, last_end_ns; /* latest end of a step: in this round so far, in the last one */
    uint64_t input_ns, last_input_ns; /* how long that latest step waited for its batch */
    struct dlb_meet *meet;            /* of other ranks; NULL: there are none */
    bool asks;                        /* they are asked, and have not answered */
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

static inline void dlb_barrier_end(struct dlb_barrier *barrier)
{
    barrier->n_passed = 0;
    barrier->round++;
    barrier->last_end_ns = barrier->end_ns;
    barrier->last_input_ns = barrier->input_ns;
}

static inline void dlb_barrier_turn(struct dlb_barrier *barrier)
{
    if (barrier->asks || barrier->n_members == 0 || barrier->n_passed < barrier->n_members)
        return;
    if (barrier->meet) {
        dlb_meet_ask(barrier->meet, barrier->end_ns, barrier->input_ns);
        barrier->asks = true;
    } else {
        dlb_barrier_end(barrier);
    }
}

/* The other ranks have answered: the round ends when the last of them ends. */
static inline void dlb_barrier_take(struct dlb_barrier *barrier)
{
    barrier->asks = false;
    barrier->end_ns = barrier->meet->end_ns;
    barrier->input_ns = barrier->meet->input_ns;
    dlb_barrier_end(barrier);
}

/* Whether the other ranks have answered; does not block. */
static inline void dlb_barrier_look(struct dlb_barrier *barrier)
{
    if (barrier->asks && dlb_meet_is_answered(barrier->meet))
        dlb_barrier_take(barrier);
}

/* Behind an epoch: sleeps until they have. False: it was cancelled. */
static inline bool dlb_barrier_settle(struct dlb_barrier *barrier, const atomic_bool *cancel)
{
    if (barrier->asks && !dlb_meet_wait(barrier->meet, cancel))
        return false;
    dlb_barrier_look(barrier);
    return true;
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
