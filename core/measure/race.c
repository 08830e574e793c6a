#include "core/measure/race.h"

#include "core/measure/race_fresh.h"
#include "core/measure/race_look.h"
#include "core/measure/race_screen.h"

#include <math.h>
#include <stddef.h>

/* Chosen by simulation: docs/measurement.md. */
#define EARLY 1.0     /* probability that ends the race before its budget: all draws */
#define CHOOSE 0.94   /* probability of what is chosen when the budget ends */
#define MISSES 0.05   /* share of the intervals of the loss */
#define MOST_LOSS 4   /* tolerances: above the upper end of an answer's interval of the loss */
#define NOISE_FROM 11 /* blocks before that is said */

/* However certain the model is then: fresh runs have contradicted it. */
#define BLOCKS_END (2 * DLB_RACE_BLOCKS_MAX)

/* The smallest that is certain enough, else the most probable cell: in the last phase it comes that
 * far most often. -1: none is probable. */
static int64_t choose(const struct dlb_race *race)
{
    double most = dlb_race_highest(race);
    return most < CHOOSE ? -1 : dlb_race_smallest(race, fmin(most, DLB_RACE_PREFER));
}

/* The best of the others, among those that survive or, where none does, those that were dropped. */
static int64_t find_rival(const struct dlb_race *race)
{
    int64_t rival = -1;
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        const struct dlb_race_cell *cell = &race->cells[c];
        if (c == race->recommended || cell->state == DLB_RACE_FAILED)
            continue;
        if (rival < 0 || dlb_race_survives(race, c) > dlb_race_survives(race, (uint32_t)rival) ||
            (dlb_race_survives(race, c) == dlb_race_survives(race, (uint32_t)rival) &&
             cell->behind < race->cells[rival].behind))
            rival = c;
    }
    return rival;
}

static bool stop(struct dlb_race *race, enum dlb_race_stop why)
{
    race->stopped = why;
    if (why == DLB_RACE_DECIDED)
        race->blocks_more = 0;
    dlb_race_estimate_losses(race);
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        race->cells[c].runs = false;
    return false;
}

static bool stop_undecided(struct dlb_race *race, enum dlb_race_stop why)
{
    race->recommended = race->rival = -1;
    return stop(race, why);
}

void dlb_race_judge(struct dlb_race *race)
{
    if (race->n_blocks < DLB_RACE_FIRST_LOOK)
        return;
    dlb_race_look(race);
    int64_t found = race->leader < 0 ? -1 : dlb_race_smallest(race, DLB_RACE_ALIKE);
    if (found < 0 || dlb_race_is_contested(race, (uint32_t)found)) {
        (void)stop_undecided(race, DLB_RACE_NOISE);
        return;
    }
    race->recommended = found;
    race->rival = find_rival(race);
    race->probability = race->cells[found].probability;
    (void)stop(race, DLB_RACE_DECIDED);
    race->loss_frac = race->cells[found].loss_frac;
    race->loss_level = 1 - MISSES;
}

static bool start_fresh(struct dlb_race *race, int64_t recommended)
{
    race->recommended = recommended;
    race->rival = find_rival(race);
    race->probability = race->cells[recommended].probability;
    race->cells[recommended].state = DLB_RACE_FINALIST;
    if (race->rival < 0) { /* the only cell that has not failed: there is nothing to lose to */
        race->noise_floor_frac = (double)NAN;
        return stop(race, DLB_RACE_DECIDED);
    }
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        race->cells[c].runs = c == recommended || c == race->rival;
    /* One that was dropped, too: alone in the model the recommended cell would be the best in any
     * case, whatever the fresh pairs say. */
    race->cells[race->rival].state = DLB_RACE_FINALIST;
    race->fresh_from = race->n_blocks;
    race->n_fresh = dlb_race_plan_fresh(race);
    return true;
}

static bool affords(const struct dlb_race_budget *budget, double n_blocks, double n_runs)
{
    return n_blocks * budget->block + n_runs * budget->run <= budget->left;
}

/* The last phase, before what else is to run. */
static bool affords_fresh(const struct dlb_race *race, const struct dlb_race_budget *budget,
                          double n_blocks, double n_runs)
{
    double n_fresh = dlb_race_plan_fresh(race);
    return affords(budget, n_blocks, n_runs + 2 * n_fresh);
}

static void settle(struct dlb_race *race, const struct dlb_race_interval *loss, double misses)
{
    race->loss_frac = *loss;
    race->loss_level = 1 - misses;
    race->probability = race->cells[race->recommended].probability;
    race->cells[race->recommended].state = DLB_RACE_FINALIST;
    if (dlb_race_survives(race, (uint32_t)race->rival))
        race->cells[race->rival].state = DLB_RACE_FINALIST;
}

static bool is_contradicted(const struct dlb_race *race, const struct dlb_race_interval *loss)
{
    return isnan(loss->median) || (loss->median > race->input.tolerance && loss->low > 0);
}

/* Whether the fresh pairs, and all runs together, leave the recommended cell good enough. */
static bool is_left(const struct dlb_race *race, const struct dlb_race_interval *loss)
{
    return !is_contradicted(race, loss) && loss->high <= MOST_LOSS * race->input.tolerance &&
           dlb_race_survives(race, (uint32_t)race->recommended) &&
           race->cells[race->recommended].probability >= DLB_RACE_DECIDE;
}

static void change_places(struct dlb_race *race)
{
    int64_t given_up = race->recommended;
    race->recommended = race->rival;
    race->rival = given_up;
}

/* Of the two that ran afresh the smaller one, if it is probable enough, else the more probable one.
 */
static bool prefers_rival(const struct dlb_race *race)
{
    const struct dlb_race_cell *chosen = &race->cells[race->recommended];
    const struct dlb_race_cell *rival = &race->cells[race->rival];
    double enough = fmin(fmax(chosen->probability, rival->probability), DLB_RACE_PREFER);
    if (dlb_race_is_smaller(race, (uint32_t)race->rival, race->recommended))
        return rival->probability >= enough;
    return chosen->probability < enough;
}

/* The rival was chosen beforehand, too, and ran in the same pairs. */
static bool turn_to_rival(struct dlb_race *race)
{
    double misses = MISSES / 2; /* it could be either's */
    change_places(race);
    struct dlb_race_interval loss = dlb_race_fresh_loss(race, misses);
    if (is_left(race, &loss)) {
        settle(race, &loss, misses);
        return true;
    }
    change_places(race);
    return false;
}

/* After the last phase. Its blocks count for the model, too. Where it was against the recommended
 * cell, the race goes on, if it can: all that was known before may be wrong. */
static bool confirm(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    struct dlb_race_interval loss = dlb_race_fresh_loss(race, MISSES);
    dlb_race_look(race);
    race->n_fresh = 0;
    bool may_go_on = affords_fresh(race, budget, 0, 0);
    bool goes_on = may_go_on && is_contradicted(race, &loss);
    if (!goes_on && prefers_rival(race) && turn_to_rival(race))
        return true;
    if (is_left(race, &loss)) {
        settle(race, &loss, MISSES);
        return true;
    }
    if (!may_go_on && turn_to_rival(race))
        return true;
    race->recommended = race->rival = -1;
    return false;
}

static void run_those_that_race(struct dlb_race *race)
{
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        race->cells[c].runs = race->cells[c].state == DLB_RACE_RACING;
}

static bool has_failed(const struct dlb_race *race, int64_t cell)
{
    return cell >= 0 && race->cells[cell].state == DLB_RACE_FAILED;
}

/* Of the last phase: what it can show no more, it need not run for. */
static void give_up_fresh(struct dlb_race *race)
{
    race->n_fresh = 0;
    race->recommended = race->rival = -1;
    dlb_race_look(race);
}

/* Looks after each block, and where what was chosen at the last look cannot run. */
static void look_if_due(struct dlb_race *race)
{
    bool stuck = has_failed(race, race->leader) || dlb_race_block_runs(race) == 0;
    if (stuck || race->n_looked < race->n_blocks)
        dlb_race_look(race);
}

/* The last block before the last phase has as many cells as are left runs for: the leader, and
 * those that are most likely to be better. */
static void fit_block(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    uint32_t n = dlb_race_block_runs(race);
    for (; n > 2 && !affords_fresh(race, budget, 1, n); n--) {
        int64_t least = -1;
        for (uint32_t c = 0; c < race->input.n_cells; c++)
            if (race->cells[c].runs && c != race->leader &&
                (least < 0 ||
                 dlb_race_chance(&race->cells[c]) < dlb_race_chance(&race->cells[least])))
                least = c;
        race->cells[least].runs = false;
    }
}

static bool race_on(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    look_if_due(race);
    if (race->leader < 0)
        return stop_undecided(race, DLB_RACE_BUDGET);
    if (race->n_blocks >= BLOCKS_END)
        return stop_undecided(race, DLB_RACE_NOISE);
    if (race->cells[race->leader].probability >= EARLY && !dlb_race_in_doubt(race) &&
        affords_fresh(race, budget, 0, 0))
        return start_fresh(race, race->leader);
    bool noise =
        race->n_blocks >= NOISE_FROM && race->n_blocks + race->blocks_more > DLB_RACE_BLOCKS_MAX;
    fit_block(race, budget);
    if (affords_fresh(race, budget, 1, dlb_race_block_runs(race)) && !noise)
        return true;
    int64_t found = choose(race);
    if (found >= 0 && affords_fresh(race, budget, 0, 0))
        return start_fresh(race, found);
    return stop_undecided(race, noise ? DLB_RACE_NOISE : DLB_RACE_BUDGET);
}

/* Before the first look. */
static bool first_blocks(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    if (race->n_blocks == 0)
        run_those_that_race(race);
    else
        dlb_race_screen(race);
    uint32_t n = dlb_race_block_runs(race);
    if (n > 0 && affords(budget, 1, n))
        return true;
    if (race->n_blocks >= DLB_RACE_FIRST_LOOK)
        return race_on(race, budget);
    return stop_undecided(race, DLB_RACE_BUDGET);
}

bool dlb_race_next(struct dlb_race *race, struct dlb_race_budget budget)
{
    if (race->stopped != DLB_RACE_GOES_ON)
        return false;
    if (race->n_fresh > 0) {
        if (has_failed(race, race->recommended) || has_failed(race, race->rival))
            give_up_fresh(race);
        else if (race->n_blocks < race->fresh_from + race->n_fresh)
            return affords(&budget, 0, 2) ? true : stop_undecided(race, DLB_RACE_BUDGET);
        else if (confirm(race, &budget))
            return stop(race, DLB_RACE_DECIDED);
    }
    return race->n_blocks < race->first_look ? first_blocks(race, &budget) : race_on(race, &budget);
}
