/* What a task of a plan is: its configuration, its length, where its result goes.
 *
 * Floor 4, Control thread; pure. */
#ifndef DLB_SCENARIOS_RUN_TASK_H
#define DLB_SCENARIOS_RUN_TASK_H

#include "scenarios/cell/cell.h"
#include "scenarios/scenario.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether it measures a cell as the user configured it. */
bool dlb_task_is_cell(const struct dlb_task *task);

/* NULL for a cell that another program measures. Borrowed from the plan. */
const struct dlb_spec *dlb_task_spec(const struct dlb_plan *plan, const struct dlb_task *task);

/* The configuration for the task's process. New reference. */
json_t *dlb_task_config(const struct dlb_plan *plan, const struct dlb_task *task);

/* A hash of it: equal configurations have equal hashes. */
uint64_t dlb_task_hash(const struct dlb_plan *plan, const struct dlb_task *task);

enum dlb_cell_mode dlb_task_mode(const struct dlb_plan *plan, const struct dlb_task *task);

/* The repetitions that its result is one of. */
struct dlb_reps *dlb_task_reps(struct dlb_results *results, const struct dlb_task *task);

/* How many batches it takes; NaN if that cannot be predicted. */
double dlb_task_batches(const struct dlb_plan *plan, const struct dlb_task *task,
                        uint64_t n_samples);

#endif
