/* From a configuration to a plan: cells, what is skipped and why, ceilings, order of execution.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_PLAN_PLAN_H
#define DLB_SCENARIOS_PLAN_PLAN_H

#include "scenarios/scenario.h"

/* The cross product of `axes` over the base configuration, the first axis slowest. Takes over the
 * axes. An option that shows no difference in a combination ("prefetch_factor" with 0 workers)
 * keeps its axis's first value and skips the others; a combination that the loaders refuse is
 * skipped with their reason. DLB_E_CONFIG beyond DLB_MAX_CELLS. */
int dlb_plan_cells(const struct dlb_plan_input *in, struct dlb_axes *axes, struct dlb_plan *plan,
                   struct dlb_err *err);

/* One ceiling per distinct setting of the cells that run, as far as it concerns device, batches,
 * copies and data set: the cell with batches that are always ready. */
void dlb_plan_ceilings(struct dlb_plan *plan);

/* As dlb_plan_ceilings, for the cells from `first` on, which were added. */
void dlb_plan_add_ceilings(struct dlb_plan *plan, uint32_t first);

/* Whether loaders, format and codec accept the cell's combination: DLB_OK or an error. */
int dlb_plan_check_cell(struct dlb_spec *spec, bool iterable, struct dlb_err *err);

/* The name in the user's module that decides in place of the option, in a cell of PyTorch's:
 * "batch_sampler", "sampler". NULL: none does. */
const char *dlb_plan_sampler_for(const struct dlb_plan_torch *torch,
                                 const struct dlb_opt_group *group, const struct dlb_opt *opt,
                                 const struct dlb_spec *spec);

/* Whether PyTorch's own DataLoader loads in the cell. */
bool dlb_plan_is_torch(const struct dlb_plan *plan, uint32_t cell);

/* The race that has the answer: PyTorch's once it has looked and a cell is left in it, else the
 * first one. NULL without a race. */
const struct dlb_plan_race *dlb_plan_deciding(const struct dlb_plan *plan);

/* The race that the cell is in; NULL without one. */
const struct dlb_plan_race *dlb_plan_race_of(const struct dlb_plan *plan, uint32_t cell);

/* Blocks of the plan that are of this race. */
uint32_t dlb_plan_race_blocks(const struct dlb_plan *plan, const struct dlb_plan_race *race);

/* The specs that read all data once: one per distinct data set of the cells that want it warm, none
 * for those that store nothing or read past the page cache. `as_is`: cells that take the cache as
 * it is get one pass, too, so that all of them find the same. */
void dlb_plan_warm(const struct dlb_plan_input *in, bool as_is, struct dlb_plan *plan);

/* Appends a block: its warm passes (before the first block, those for all), with plan->reference >=
 * 0 that cell, then the cells (NULL: all) and their ceilings once each, in an order shuffled with
 * the seed. `cells`: [plan->n_cells]; skipped ones do not run in any case. `alone`: without
 * reference and ceilings. */
void dlb_plan_add_block(struct dlb_plan *plan, uint32_t block, const bool *cells, bool alone);

/* plan->n_blocks blocks of all cells, and the reference once more at the end. */
void dlb_plan_tasks(struct dlb_plan *plan);

/* Appends the warm passes of a block, which come before all its cells. */
void dlb_plan_add_block_warms(struct dlb_plan *plan, uint32_t block);

/* Inserts the warm passes that were made before the first block, once more, before task `at`: of a
 * run that was resumed there. The tasks may move. */
void dlb_plan_insert_warms(struct dlb_plan *plan, uint32_t at);

/* Moves the tasks from n on to the place `to`. */
void dlb_plan_move_tasks(struct dlb_plan *plan, uint32_t n, uint32_t to);

/* Appends a task. Before a repetition of a cell with DLB_WARM_EACH it adds the warm pass. */
void dlb_plan_add_task(struct dlb_plan *plan, struct dlb_task task);

/* num_workers {0, 1, 2, 4 .. n_cpus} x pin_memory x prefetch_factor {2, 4} x persistent_workers. */
void dlb_plan_default_axes(uint32_t n_cpus, struct dlb_axes *axes);

/* The seed of a repetition in this block: the same for all cells that have the same run.seed, so
 * that they meet the same order. In block 0 it is run.seed itself. */
int64_t dlb_plan_block_seed(int64_t seed, uint32_t block);

/* Batches that a cell's process takes, all accelerators together, as the sampler divides n_samples
 * (0: not known); of iterable data about so many. NaN where it cannot be told. The synthetic format
 * ignores n_samples. */
double dlb_plan_batches(const struct dlb_spec *spec, uint64_t n_samples);

#endif
