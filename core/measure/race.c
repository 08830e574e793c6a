#include "core/measure/race.h"

#include "core/base/mem.h"
#include "core/measure/race_fresh.h"
#include "core/measure/race_keys.h"
#include "core/measure/race_model.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen by simulation: docs/measurement.md. */
#define N_DRAWS 1000
#define EARLY 1.0        /* probability that ends the race before its budget: all draws */
#define CHOOSE 0.97      /* probability of what is chosen when the budget ends */
#define DROP 0.02        /* probability below which a cell is dropped */
#define PASS_OVER 0.65   /* share of the highest probability that the leader has at least */
#define THREAT 0.02      /* probability from which a cell runs on */
#define DOUBT 0.07       /* likewise, if it is an exception */
#define RUNS_ALONGSIDE 6 /* cells of a block at least: a cell that was unlucky is seen again */
#define FRESH_MAX 8
#define MISSES 0.05        /* share of the intervals of the loss */
#define FRESH_T 2.1        /* quantile of t for about 20 blocks, which plans their number */
#define NORMAL_95 1.644854 /* quantiles of the standard normal distribution */
#define NORMAL_975 1.959964
#define NOISE_FROM 11 /* blocks before that is said */

static bool survives(const struct dlb_race *race, uint32_t cell)
{
    return race->cells[cell].state == DLB_RACE_RACING ||
           race->cells[cell].state == DLB_RACE_SCREENED ||
           race->cells[cell].state == DLB_RACE_FINALIST;
}

static uint32_t n_measured(const struct dlb_race *race, uint32_t cell)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < race->n_blocks; b++)
        n += isfinite(race->ln_rate[(size_t)b * race->input.n_cells + cell]);
    return n;
}

static bool is_smaller(const struct dlb_race *race, uint32_t a, int64_t b)
{
    return b < 0 || race->input.rank[a] < race->input.rank[b];
}

/* The smallest survivor that is at least this probable. */
static int64_t smallest(const struct dlb_race *race, double probability)
{
    int64_t found = -1;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (survives(race, c) && race->cells[c].probability >= probability &&
            is_smaller(race, c, found))
            found = c;
    return found;
}

static double highest(const struct dlb_race *race)
{
    double most = 0;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (survives(race, c))
            most = fmax(most, race->cells[c].probability);
    return most;
}

/* The smallest that is certain enough, else the most probable cell: in the last phase it comes that
 * far most often. -1: none is probable. */
static int64_t choose(const struct dlb_race *race)
{
    double most = highest(race);
    return most < CHOOSE ? -1 : smallest(race, fmin(most, DLB_RACE_DECIDE));
}

/* Draws of ln rates become draws of how far a cell is behind the best. */
static void to_distances(const struct dlb_race *race, double *draws)
{
    uint32_t n_cells = race->input.n_cells;
    for (uint32_t d = 0; d < N_DRAWS; d++) {
        double *draw = draws + (size_t)d * n_cells, best = -INFINITY;
        for (uint32_t c = 0; c < n_cells; c++)
            best = fmax(best, draw[c]); /* of NaN and a number: the number */
        for (uint32_t c = 0; c < n_cells; c++)
            draw[c] = best - draw[c];
    }
}

static void weigh(struct dlb_race *race, const double *draws)
{
    uint32_t n_cells = race->input.n_cells;
    double edge = -log1p(-race->input.tolerance);
    for (uint32_t c = 0; c < n_cells; c++) {
        uint32_t n_within = 0;
        double sum = 0;
        if (!survives(race, c))
            continue;
        for (uint32_t d = 0; d < N_DRAWS; d++) {
            n_within += draws[(size_t)d * n_cells + c] <= edge;
            sum += draws[(size_t)d * n_cells + c];
        }
        race->cells[c].probability = (double)n_within / N_DRAWS;
        race->cells[c].behind = sum / N_DRAWS;
    }
}

static void find_leader(struct dlb_race *race)
{
    double most = highest(race);
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (survives(race, c) && race->cells[c].probability < fmin(DROP, PASS_OVER * most))
            race->cells[c].state = DLB_RACE_DROPPED;
    race->leader = smallest(race, PASS_OVER * most);
}

static void find_threats(struct dlb_race *race, const double *draws)
{
    uint32_t n_cells = race->input.n_cells;
    double edge = -log1p(-race->input.tolerance);
    for (uint32_t c = 0; c < n_cells; c++) {
        uint32_t n_better = 0;
        if (!survives(race, c))
            continue;
        for (uint32_t d = 0; d < N_DRAWS; d++)
            n_better += draws[(size_t)d * n_cells + (size_t)race->leader] >
                        draws[(size_t)d * n_cells + c] + edge;
        race->cells[c].threat = (double)n_better / N_DRAWS;
    }
}

/* Pooled with the others, a lone best cell that was unlucky looks like them. Its own runs may still
 * leave it so much better. */
static void find_doubts(struct dlb_race *race, const struct dlb_race_draws *draws)
{
    uint32_t n_cells = race->input.n_cells;
    double edge = -log1p(-race->input.tolerance);
    int64_t certain = smallest(race, DLB_RACE_DECIDE);
    uint32_t choice = (uint32_t)(certain >= 0 ? certain : race->leader);
    for (uint32_t c = 0; c < n_cells; c++) {
        uint32_t n_better = 0;
        for (size_t d = 0; survives(race, c) && c != choice && d < N_DRAWS; d++)
            n_better +=
                draws->exceptional[d * n_cells + c] > draws->usual[d * n_cells + choice] + edge;
        race->cells[c].doubt = (double)n_better / N_DRAWS;
    }
}

/* Whether a cell that runs on for that reason may be better than the choice. */
static bool in_doubt(const struct dlb_race *race)
{
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (survives(race, c) && race->cells[c].doubt >= DOUBT)
            return true;
    return false;
}

/* That it is better than the leader by more than the tolerance, or than the choice if it is an
 * exception. */
static double chance(const struct dlb_race_cell *cell)
{
    return fmax(cell->threat, cell->doubt);
}

/* Which of two cells that rest should run first. */
static bool threatens_more(const struct dlb_race_cell *a, const struct dlb_race_cell *b)
{
    if (a->threat != b->threat)
        return a->threat > b->threat;
    return a->behind < b->behind;
}

static void choose_runs(struct dlb_race *race)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        struct dlb_race_cell *cell = &race->cells[c];
        cell->runs = survives(race, c) &&
                     (c == race->leader || cell->threat >= THREAT || cell->doubt >= DOUBT);
        n += cell->runs;
    }
    for (; n < RUNS_ALONGSIDE; n++) {
        int64_t next = -1;
        for (uint32_t c = 0; c < race->input.n_cells; c++)
            if (survives(race, c) && !race->cells[c].runs &&
                (next < 0 || threatens_more(&race->cells[c], &race->cells[next])))
                next = c;
        if (next < 0)
            break;
        race->cells[next].runs = true;
    }
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (survives(race, c))
            race->cells[c].state = race->cells[c].runs ? DLB_RACE_RACING : DLB_RACE_SCREENED;
}

/* So many that the interval of the loss is about as wide as the tolerance to either side. */
static uint32_t plan_fresh(const struct dlb_race *race)
{
    double half = FRESH_T * M_SQRT2 * race->scatter / race->input.tolerance;
    return (uint32_t)fmin(fmax(ceil(half * half), DLB_RACE_FRESH_MIN), FRESH_MAX);
}

/* A cell that loses nothing is within the tolerance with DLB_RACE_DECIDE where the standard error
 * of a difference is tolerance / NORMAL_95. */
double dlb_race_blocks(double scatter, double tolerance)
{
    double each = NORMAL_95 * scatter / tolerance;
    return ceil(2 * each * each);
}

static void foresee(struct dlb_race *race)
{
    double n = n_measured(race, (uint32_t)race->leader);
    double needed = dlb_race_blocks(race->scatter, race->input.tolerance);
    race->noise_floor_frac = -expm1(-NORMAL_975 * race->scatter * sqrt(2 / n));
    race->blocks_more = plan_fresh(race);
    if (race->cells[race->leader].probability < DLB_RACE_DECIDE)
        race->blocks_more += fmax(needed - n, 1);
}

/* Empty if no cell is in. `rate` becomes how far a cell is behind the best. */
static struct dlb_race_draws draw_distances(struct dlb_race *race, const bool *in)
{
    struct dlb_race_data data = {race->input.n_cells, race->input.n_keys, race->n_blocks,
                                 race->input.levels, race->ln_rate};
    bool any = false;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        any = any || in[c];
    if (!any)
        return (struct dlb_race_draws){0};
    struct dlb_race_noise noise = dlb_race_noise_of(&data);
    struct dlb_race_draws draws = dlb_race_draws_of(&data, &noise, in, N_DRAWS, race->input.seed);
    race->scatter = noise.scatter;
    dlb_race_noise_free(&noise);
    to_distances(race, draws.rate);
    return draws;
}

static void look(struct dlb_race *race)
{
    bool *in = dlb_mem_array(race->input.n_cells, sizeof(*in));
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        if (survives(race, c) && n_measured(race, c) == 0)
            dlb_race_fail(race, c);
        in[c] = survives(race, c);
    }
    struct dlb_race_draws draws = draw_distances(race, in);
    race->n_looked = race->n_blocks;
    race->leader = -1;
    if (draws.rate) {
        weigh(race, draws.rate);
        find_leader(race);
        find_threats(race, draws.rate);
        find_doubts(race, &draws);
        choose_runs(race);
        foresee(race);
    }
    dlb_race_draws_free(&draws);
    free(in);
}

/* The losses of all cells that were measured, dropped ones included; and the keys. */
static void estimate_losses(struct dlb_race *race)
{
    uint32_t n_cells = race->input.n_cells;
    double *loss = dlb_mem_array(N_DRAWS, sizeof(*loss));
    bool *in = dlb_mem_array(n_cells, sizeof(*in));
    for (uint32_t c = 0; c < n_cells; c++)
        in[c] = race->cells[c].state != DLB_RACE_FAILED && n_measured(race, c) > 0;
    struct dlb_race_draws draws = draw_distances(race, in);
    for (uint32_t c = 0; draws.rate && c < n_cells; c++) {
        if (!in[c])
            continue;
        for (uint32_t d = 0; d < N_DRAWS; d++)
            loss[d] = -expm1(-draws.rate[(size_t)d * n_cells + c]);
        race->cells[c].loss_frac = (struct dlb_race_interval){dlb_quantile(loss, N_DRAWS, 0.5),
                                                              dlb_quantile(loss, N_DRAWS, 0.025),
                                                              dlb_quantile(loss, N_DRAWS, 0.975)};
    }
    if (draws.rate)
        dlb_race_judge_keys(race, draws.rate, N_DRAWS, in);
    dlb_race_draws_free(&draws);
    free(in);
    free(loss);
}

/* The best of the others, among those that survive or, where none does, those that were dropped. */
static int64_t find_rival(const struct dlb_race *race)
{
    int64_t rival = -1;
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        const struct dlb_race_cell *cell = &race->cells[c];
        if (c == race->recommended || cell->state == DLB_RACE_FAILED)
            continue;
        if (rival < 0 || survives(race, c) > survives(race, (uint32_t)rival) ||
            (survives(race, c) == survives(race, (uint32_t)rival) &&
             cell->behind < race->cells[rival].behind))
            rival = c;
    }
    return rival;
}

static bool stop(struct dlb_race *race, enum dlb_race_stop why)
{
    race->stopped = why;
    estimate_losses(race);
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        race->cells[c].runs = false;
    return false;
}

static bool stop_undecided(struct dlb_race *race, enum dlb_race_stop why)
{
    race->recommended = race->rival = -1;
    return stop(race, why);
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
    race->n_fresh = plan_fresh(race);
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
    double n_fresh = plan_fresh(race);
    return affords(budget, n_blocks, n_runs + 2 * n_fresh);
}

static void settle(struct dlb_race *race, const struct dlb_race_interval *loss, double misses)
{
    race->loss_frac = *loss;
    race->loss_level = 1 - misses;
    race->probability = race->cells[race->recommended].probability;
    race->cells[race->recommended].state = DLB_RACE_FINALIST;
    if (survives(race, (uint32_t)race->rival))
        race->cells[race->rival].state = DLB_RACE_FINALIST;
}

/* Whether the fresh pairs, and all runs together, leave the recommended cell good enough. */
static bool is_left(const struct dlb_race *race, const struct dlb_race_interval *loss)
{
    bool loses = isnan(loss->median) || (loss->median > race->input.tolerance && loss->low > 0);
    return !loses && survives(race, (uint32_t)race->recommended) &&
           race->cells[race->recommended].probability >= DLB_RACE_DECIDE;
}

static void change_places(struct dlb_race *race)
{
    int64_t given_up = race->recommended;
    race->recommended = race->rival;
    race->rival = given_up;
}

/* Where the rival is smaller and as good, or the last phase was against the recommended cell and
 * there is none to come: the rival was chosen beforehand, too, and ran in the same pairs. */
static bool turn_to_rival(struct dlb_race *race)
{
    double misses = MISSES / 2; /* it could be either's */
    if (smallest(race, DLB_RACE_DECIDE) != race->rival)
        return false;
    change_places(race);
    struct dlb_race_interval loss = dlb_race_fresh_loss(race, misses);
    if (is_left(race, &loss)) {
        settle(race, &loss, misses);
        return true;
    }
    change_places(race);
    return false;
}

/* After the last phase. Its blocks count for the model, too. */
static bool confirm(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    struct dlb_race_interval loss = dlb_race_fresh_loss(race, MISSES);
    look(race);
    race->n_fresh = 0;
    if (is_smaller(race, (uint32_t)race->rival, race->recommended) && turn_to_rival(race))
        return true;
    if (is_left(race, &loss)) {
        settle(race, &loss, MISSES);
        return true;
    }
    if (!affords_fresh(race, budget, 0, 0) && turn_to_rival(race))
        return true;
    race->recommended = race->rival = -1;
    return false;
}

uint32_t dlb_race_block_runs(const struct dlb_race *race)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        n += race->cells[c].runs;
    return n;
}

static bool first_blocks(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        race->cells[c].runs = race->cells[c].state == DLB_RACE_RACING;
    uint32_t n = dlb_race_block_runs(race);
    return n > 0 && affords(budget, 1, n) ? true : stop_undecided(race, DLB_RACE_BUDGET);
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
    look(race);
}

/* Looks after each block, and where what was chosen at the last look cannot run. */
static void look_if_due(struct dlb_race *race)
{
    bool stuck = has_failed(race, race->leader) || dlb_race_block_runs(race) == 0;
    if (stuck || race->n_looked < race->n_blocks)
        look(race);
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
                (least < 0 || chance(&race->cells[c]) < chance(&race->cells[least])))
                least = c;
        race->cells[least].runs = false;
    }
}

static bool race_on(struct dlb_race *race, const struct dlb_race_budget *budget)
{
    look_if_due(race);
    if (race->leader < 0)
        return stop_undecided(race, DLB_RACE_BUDGET);
    if (race->cells[race->leader].probability >= EARLY && !in_doubt(race) &&
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
    return race->n_blocks < DLB_RACE_FIRST_LOOK ? first_blocks(race, &budget)
                                                : race_on(race, &budget);
}
