/* How long a task may be silent before it counts as hung.
 *
 * Floor 4, private to scenarios/run. Control thread; pure. */
#ifndef DLB_SCENARIOS_RUN_STALL_H
#define DLB_SCENARIOS_RUN_STALL_H

#include "scenarios/scenario.h"

#include <stdint.h>

/* Five minutes, or ten steps or batches if those are longer, plus loader.worker_init_ms and
 * loader.timeout_s; of a ceiling, the timeout of its cells and 15 s, where all have one. */
uint64_t dlb_stall_ns(const struct dlb_plan *plan, const struct dlb_task *task);

#endif
