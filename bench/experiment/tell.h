/* What an experiment says on stderr before it measures: what is left out, how long it takes, what
 * is taken over from an earlier process.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_TELL_H
#define DLB_BENCH_EXPERIMENT_TELL_H

#include "core/base/config.h"
#include "scenarios/run/kept.h"
#include "scenarios/scenario.h"

/* All borrowed. */
struct dlb_tell {
    const struct dlb_config *cfg;
    const struct dlb_scenario *scenario;
    const struct dlb_subject *subject;
    const struct dlb_plan *plan;
    const struct dlb_kept *kept;
};

/* Settings that have no effect here. */
void dlb_tell_left_out(const struct dlb_tell *tell);

/* How long it takes, and how to make it shorter. */
void dlb_tell_length(const struct dlb_tell *tell);

/* What is taken over; nothing where this process begins. */
void dlb_tell_resumed(const struct dlb_tell *tell);

#endif
