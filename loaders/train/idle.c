#include "loaders/train/idle.h"

#include "loaders/train/window.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add(struct dlb_idle *idle, uint64_t start_ns, uint64_t end_ns,
                enum dlb_device_stage why)
{
    if (end_ns > start_ns)
        idle->piece[idle->n++] = (struct dlb_idle_piece){start_ns, end_ns, why};
}

struct dlb_idle dlb_idle_between(const struct dlb_step *last, const struct dlb_step *step)
{
    uint64_t at = last->times.step_end_ns, to = step->times.step_start_ns;
    uint64_t own = later(step->held_until_ns, at); /* from here on its own reasons count */
    uint64_t held_to = at + step->held_input_ns < own ? at + step->held_input_ns : own;
    /* They follow each other in time. */
    const struct dlb_idle_piece known[] = {
        {at, held_to, DLB_DS_IDLE_INPUT},
        {later(step->over_start_ns, own), step->over_end_ns, DLB_DS_IDLE_INPUT},
        {later(step->wait_start_ns, own), step->wait_end_ns, DLB_DS_IDLE_INPUT},
        {later(later(step->times.copy_start_ns, step->wait_end_ns), own), step->times.copy_end_ns,
         DLB_DS_EXPOSED_COPY},
    };
    struct dlb_idle idle = {0};

    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t start_ns = later(known[i].start_ns, at);
        uint64_t end_ns = known[i].end_ns < to ? known[i].end_ns : to;
        if (end_ns <= start_ns)
            continue;
        add(&idle, at, start_ns, DLB_DS_IDLE_OTHER);
        add(&idle, start_ns, end_ns, known[i].why);
        at = end_ns;
    }
    add(&idle, at, to, DLB_DS_IDLE_OTHER);
    return idle;
}

uint64_t dlb_idle_ns(const struct dlb_idle *idle, enum dlb_device_stage why)
{
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < idle->n; i++)
        if (idle->piece[i].why == why)
            sum_ns += idle->piece[i].end_ns - idle->piece[i].start_ns;
    return sum_ns;
}
