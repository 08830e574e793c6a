/* Which repetitions are measured again because others disturbed them (core/measure/disturbed.h).
 *
 * Floor 4, private to scenarios/run and its tests. Control thread; pure. */
#ifndef DLB_SCENARIOS_RUN_AGAIN_H
#define DLB_SCENARIOS_RUN_AGAIN_H

#include "scenarios/scenario.h"

/* Which tasks the runner would run: one that it drops, because its cell failed, is not added. */
struct dlb_again_of {
    bool (*runs)(void *ctx, const struct dlb_task *task); /* NULL: all */
    void *ctx;
};

/* After task `at`, the last of its block: inserts a task for each repetition of a cell or ceiling
 * of this block that was disturbed and has not been measured again DLB_AGAIN_MAX times, with a warm
 * pass where the first one had its own. None once measuring again has turned out to be pointless.
 * Returns how many repetitions were added. The tasks may move. */
uint32_t dlb_again_add(struct dlb_plan *plan, const struct dlb_results *results,
                       const struct dlb_again_of *of, uint32_t at);

#endif
