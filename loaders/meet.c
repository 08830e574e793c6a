#include "loaders/meet.h"

#include <string.h>

/* How often a cell that waits looks whether it is cancelled. */
#define LOOK_NS (50 * DLB_NS_PER_MS)

void dlb_meet_reset(struct dlb_meet *meet)
{
    memset(meet, 0, sizeof(*meet));
}

void dlb_meet_ask(struct dlb_meet *meet, uint64_t end_ns, uint64_t input_ns)
{
    meet->end_ns = end_ns;
    meet->input_ns = input_ns;
    atomic_fetch_add(&meet->n_asked, 1);
    dlb_event_signal(&meet->bell);
}

void dlb_meet_ask_measured(struct dlb_meet *meet)
{
    meet->measured_ns = dlb_now_ns();
    atomic_store(&meet->measured, true);
    dlb_meet_ask(meet, meet->measured_ns, 0);
}

bool dlb_meet_is_answered(const struct dlb_meet *meet)
{
    return atomic_load(&meet->n_answered) == atomic_load(&meet->n_asked);
}

bool dlb_meet_waits(const struct dlb_meet *meet)
{
    return !dlb_meet_is_answered(meet) && !atomic_load(&meet->measured);
}

bool dlb_meet_wait(struct dlb_meet *meet, const atomic_bool *cancel)
{
    while (!dlb_meet_is_answered(meet)) {
        uint32_t seen = dlb_event_seq(&meet->ready);
        if (cancel && atomic_load(cancel))
            return false;
        if (!dlb_meet_is_answered(meet))
            dlb_event_wait(&meet->ready, seen, dlb_now_ns() + LOOK_NS);
    }
    return true;
}

void dlb_meet_again(struct dlb_meet *meet)
{
    meet->started_ns = 0;
}

void dlb_meet_end(struct dlb_meet *meet, bool well)
{
    meet->ended_well = well;
    atomic_store(&meet->ended_ns, dlb_now_ns());
    dlb_event_signal(&meet->bell);
}

void dlb_meet_answer(struct dlb_meet *meet, uint64_t end_ns, uint64_t input_ns, bool alone)
{
    if (meet->started_ns == 0) {
        meet->started_ns = dlb_now_ns();
    } else if (!atomic_load(&meet->measured)) {
        meet->n_rounds++;
        meet->own_input_ns += meet->input_ns;
        meet->wait_ns += end_ns > meet->end_ns ? end_ns - meet->end_ns : 0;
    }
    meet->end_ns = end_ns;
    meet->input_ns = input_ns;
    meet->alone = alone;
    atomic_store(&meet->n_answered, atomic_load(&meet->n_asked));
    dlb_event_signal(&meet->ready);
}
