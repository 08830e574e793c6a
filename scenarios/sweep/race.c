#include "scenarios/sweep/race.h"

#include "core/base/mem.h"
#include "scenarios/judge/judge.h"
#include "scenarios/judge/judged.h"
#include "scenarios/plan/factors.h"
#include "scenarios/plan/in_c.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/axes.h"
#include "scenarios/spec/meaning.h"
#include "scenarios/sweep/confirm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How far a block, and the last phase, may exceed the time: what was measured would be lost. */
#define OVER_MAX 1.05
#define OVER_MIN_S 15

#define IN_C_RUNS 3 /* of the same work in C, whose median is shown */

/* Whether the axis makes cells that run do other work than the first of them. */
static bool is_other_work(const struct dlb_plan *plan, const struct dlb_axis *axis)
{
    const struct dlb_spec *first = NULL;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_spec *spec = plan->cells[i].spec;
        if (plan->cells[i].skipped || !dlb_axis_is_other_work(axis, spec))
            continue;
        if (first && !dlb_axis_equal(axis, first, spec))
            return true;
        first = first ? first : spec;
    }
    return false;
}

bool dlb_sweep_can_race(const struct dlb_plan *plan, const struct dlb_sweep_opts *opts)
{
    uint32_t n = 0, n_torch = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        n += !plan->cells[i].skipped;
        n_torch += !plan->cells[i].skipped && dlb_plan_is_torch(plan, i);
    }
    if (n_torch > 0 && n_torch < n) /* two pipelines */
        return false;
    for (uint32_t k = 0; k < plan->axes.n; k++)
        if (is_other_work(plan, &plan->axes.axis[k]))
            return false;
    return n > 1 && !opts->exhaustive;
}

static void add_block(struct dlb_plan *plan)
{
    const struct dlb_race *race = &plan->race->race;
    bool *runs = dlb_mem_array(plan->n_cells, sizeof(*runs));
    for (uint32_t i = 0; i < plan->n_cells; i++)
        runs[i] = race->cells[i].runs;
    uint32_t block = plan->race->first_block + race->n_blocks;
    dlb_plan_add_block(plan, block, runs, race->n_fresh > 0);
    plan->n_blocks = block + 1;
    free(runs);
}

static bool same_level(const struct dlb_plan *plan, uint32_t key, uint32_t a, uint32_t b)
{
    const struct dlb_plan_cell *of_a = &plan->cells[a], *of_b = &plan->cells[b];
    if (key == plan->axes.n)
        return of_a->spec->loader.num_workers == of_b->spec->loader.num_workers;
    const struct dlb_axis *axis = &plan->axes.axis[key];
    bool in_a = dlb_meaning_has(axis->group, axis->opt, of_a->spec, of_a->iterable);
    bool in_b = dlb_meaning_has(axis->group, axis->opt, of_b->spec, of_b->iterable);
    return in_a == in_b && (!in_a || dlb_axis_equal(axis, of_a->spec, of_b->spec));
}

/* Of cells behind the grid, whose values need not be on the axes. */
static void fill_torch_levels(const struct dlb_plan *plan, uint32_t n_keys, uint32_t *levels)
{
    for (uint32_t k = 0; k < n_keys; k++) {
        uint32_t n = 0;
        for (uint32_t i = plan->n_grid; i < plan->n_cells; i++) {
            uint32_t like = plan->n_grid;
            while (!same_level(plan, k, like, i))
                like++;
            levels[(size_t)i * n_keys + k] = like < i ? levels[(size_t)like * n_keys + k] : n++;
        }
    }
}

/* A race among the cells from `first` on, in the plan's time up to max_s. */
static void hold(struct dlb_plan *plan, uint32_t first, double max_s, double cut_s, uint32_t n_cpus,
                 struct dlb_race_budget budget)
{
    struct dlb_plan_race *held = dlb_mem_new(sizeof(*held));
    uint32_t n = plan->n_cells, n_keys = plan->axes.n;
    if (first > 0 && !dlb_axes_find(&plan->axes, &dlb_loader_group, "num_workers"))
        n_keys++; /* PyTorch's cells differ in it in any case */
    held->rank = dlb_mem_array(n, sizeof(*held->rank));
    held->levels = dlb_mem_array((size_t)n * n_keys, sizeof(*held->levels));
    held->rate = DLB_N_RATES;
    held->max_s = max_s;
    held->cut_s = cut_s;
    held->n_cpus = n_cpus;
    held->first_block = plan->n_blocks;
    dlb_factors_ranks(plan, held->rank);
    if (first > 0)
        fill_torch_levels(plan, n_keys, held->levels);
    else
        dlb_factors_levels(plan, held->levels);
    struct dlb_race_input input = {.n_cells = n,
                                   .n_keys = n_keys,
                                   .rank = held->rank,
                                   .levels = held->levels,
                                   .tolerance = plan->cells[0].spec->sweep.tolerance,
                                   .seed = plan->seed};
    dlb_race_init(&held->race, &input);
    for (uint32_t i = 0; i < n; i++)
        if (plan->cells[i].skipped || i < first)
            dlb_race_fail(&held->race, i);
    plan->race = held;
    plan->grows = true;
    if (dlb_race_next(&held->race, budget))
        add_block(plan);
    held->before.n_runs = dlb_race_block_runs(&held->race);
}

static double with_last_block(double max_s)
{
    return max_s > 0 ? fmax(max_s * OVER_MAX, max_s + OVER_MIN_S) : 0;
}

void dlb_sweep_race_begin(struct dlb_plan *plan, const struct dlb_sweep_opts *opts, uint32_t n_cpus)
{
    double max_s = opts->max_minutes * 60;
    if (plan->torch.there)
        max_s *= DLB_CONFIRM_SHARE;
    hold(plan, 0, max_s, plan->torch.there ? max_s : with_last_block(max_s), n_cpus,
         DLB_RACE_UNLIMITED);
}

/* What the race says, decided or not: the cell that loses least, else the smallest that works. */
static int64_t answer_of(const struct dlb_race *race)
{
    int64_t found = race->recommended >= 0 ? race->recommended : race->base;
    for (uint32_t i = 0; found < 0 && i < race->input.n_cells; i++)
        if (race->cells[i].state != DLB_RACE_FAILED)
            found = i;
    return found;
}

static void give_up(struct dlb_plan *plan, const char *why)
{
    plan->torch.there = false;
    plan->torch.code = DLB_N_CODES;
    (void)snprintf(plan->torch.why, sizeof(plan->torch.why), "%s", why);
}

/* The race among PyTorch's own cells, after the first has ended. */
static void confirm(struct dlb_plan *plan, const struct dlb_results *results)
{
    struct dlb_plan_race *first = plan->race;
    double max_s = plan->cells[0].spec->sweep.max_minutes * 60;
    int64_t answer = answer_of(&first->race);
    if (answer < 0) {
        give_up(plan, "no cell is left whose settings it could have had");
        return;
    }
    if (dlb_confirm_add(plan, (uint32_t)answer, first->n_cpus) == 0) {
        char why[sizeof(plan->torch.why)];
        (void)snprintf(why, sizeof(why), "its cells cannot run: %.300s",
                       plan->cells[plan->n_grid].reason);
        give_up(plan, why);
        return;
    }
    plan->hardware = first;
    hold(plan, plan->n_grid, max_s, with_last_block(max_s), first->n_cpus,
         max_s > 0 ? (struct dlb_race_budget){.left = max_s - results->elapsed_s}
                   : DLB_RACE_UNLIMITED);
}

/* After the last race, in what is left of the time: the answer's work in C, if PyTorch loads it. */
static void add_in_c(struct dlb_plan *plan, const struct dlb_results *results,
                     struct dlb_race_budget budget)
{
    int64_t answer = answer_of(&plan->race->race);
    double max_s = plan->race->max_s;
    double n = max_s > 0 ? floor((max_s - results->elapsed_s) / budget.run) : IN_C_RUNS;
    if (answer >= 0 && n >= 1)
        dlb_plan_add_in_c(plan, (uint32_t)answer, (uint32_t)fmin(n, IN_C_RUNS));
}

/* Whether warm passes run before each run of a cell, and are a part of what it takes. */
static bool warms_each(const struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (plan->cells[i].warm >= 0 && plan->cells[i].warm_when == DLB_WARM_EACH)
            return true;
    return false;
}

/* Time of warm passes before the first block alone: it is not spent again. */
static double once_s(const struct dlb_plan *plan, const struct dlb_results *results)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (plan->cells[i].warm >= 0 && plan->cells[i].warm_when != DLB_WARM_ONCE)
            return 0;
    return plan->n_blocks == 1 ? results->run_s[DLB_TASK_WARM] : 0;
}

static double of_cells_s(const struct dlb_plan *plan, const struct dlb_results *results)
{
    return results->run_s[DLB_TASK_CELL] + (warms_each(plan) ? results->run_s[DLB_TASK_WARM] : 0);
}

/* Without what a break cost: it is no block's time. */
static double blocks_s(const struct dlb_results *results)
{
    return results->elapsed_s - results->unjudged_s;
}

/* By what the runs that were measured again, in all blocks so far, lengthen the time of cells. How
 * many the last block had is chance. */
static double again_factor(const struct dlb_plan *plan, const struct dlb_results *results)
{
    double all_s = of_cells_s(plan, results);
    return all_s > 0 ? all_s / (all_s - results->again_s) : 1;
}

struct dlb_race_budget dlb_sweep_race_budget(const struct dlb_plan *plan,
                                             const struct dlb_results *results)
{
    const struct dlb_plan_race *held = plan->race;
    if (held->max_s <= 0)
        return DLB_RACE_UNLIMITED;
    double cells_s = of_cells_s(plan, results) - held->before.cells_s;
    double all_s = blocks_s(results) - held->before.all_s - once_s(plan, results);
    double first_s = cells_s - (results->again_s - held->before.again_s);
    double max_s = held->race.n_fresh > 0 ? held->cut_s : held->max_s;
    return (struct dlb_race_budget){.left = max_s - results->elapsed_s,
                                    .block = fmax(all_s - cells_s, 0),
                                    .run = again_factor(plan, results) * first_s /
                                           fmax(held->before.n_runs, 1)};
}

/* For the next block. */
static void remember(struct dlb_plan *plan, const struct dlb_results *results)
{
    plan->race->before = (struct dlb_race_spent){.all_s = blocks_s(results),
                                                 .cells_s = of_cells_s(plan, results),
                                                 .again_s = results->again_s,
                                                 .n_runs = dlb_race_block_runs(&plan->race->race)};
}

static double rate_in(const struct dlb_judged_cell *cell, enum dlb_rate_kind kind, uint32_t block)
{
    for (uint32_t i = 0; i < cell->n_values; i++)
        if (cell->block[i] == block)
            return cell->rates[kind].values[i];
    return (double)NAN;
}

void dlb_sweep_race_next(struct dlb_plan *plan, const struct dlb_results *results)
{
    struct dlb_plan_race *held = plan->race;
    struct dlb_race *race = &held->race;
    uint32_t block = race->n_blocks;
    struct dlb_judgement j;
    if (race->stopped != DLB_RACE_GOES_ON)
        return;
    dlb_judge_each(plan, results, held->n_cpus, &j);
    held->rate = j.ranked_by;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j.cells[i];
        if (!race->cells[i].runs)
            continue;
        dlb_race_record(race, block, i, rate_in(cell, held->rate, held->first_block + block));
        if (cell->status == DLB_CELL_FAILED ||
            (cell->n_values >= DLB_SWEEP_RACE_JUDGED && !dlb_is_judged(cell)))
            dlb_race_fail(race, i);
    }
    dlb_judgement_free(&j);
    struct dlb_race_budget budget = dlb_sweep_race_budget(plan, results);
    if (dlb_race_next(race, budget))
        add_block(plan);
    else if (plan->torch.there && !plan->hardware)
        confirm(plan, results);
    else
        add_in_c(plan, results, budget);
    remember(plan, results);
}
