#include "core/measure/race_look.h"

#include "core/base/mem.h"
#include "core/measure/race_fresh.h"
#include "core/measure/race_keys.h"
#include "core/measure/race_model.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stdlib.h>

/* Chosen by simulation: docs/measurement.md. */
#define N_DRAWS 1000
#define LOSS_LOW 0.0025 /* quantile: a cell that is the best by chance is a little too good */
#define DROP 0.02       /* probability below which a cell is dropped */
#define PASS_OVER 0.65  /* share of the highest probability that the leader has at least */
#define THREAT 0.02     /* probability from which a cell runs on */
#define DOUBT 0.035     /* likewise, if it is an exception */
#define CONTEST 0.03    /* likewise, beside a cell that is to be recommended without a race */
#define FRESH_MAX 8
#define FRESH_T 2.1 /* quantile of t for about 20 blocks, which plans their number */
/* Quantiles of the standard normal distribution. */
#define NORMAL_DECIDE 1.811911 /* of DLB_RACE_DECIDE */
#define NORMAL_975 1.959964

bool dlb_race_survives(const struct dlb_race *race, uint32_t cell)
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

bool dlb_race_is_smaller(const struct dlb_race *race, uint32_t a, int64_t b)
{
    return b < 0 || race->input.rank[a] < race->input.rank[b];
}

/* The smallest survivor that is at least this probable. */
int64_t dlb_race_smallest(const struct dlb_race *race, double probability)
{
    int64_t found = -1;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (dlb_race_survives(race, c) && race->cells[c].probability >= probability &&
            dlb_race_is_smaller(race, c, found))
            found = c;
    return found;
}

double dlb_race_highest(const struct dlb_race *race)
{
    double most = 0;
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (dlb_race_survives(race, c))
            most = fmax(most, race->cells[c].probability);
    return most;
}

static double highest_of(const double *draw, uint32_t n_cells)
{
    double most = -INFINITY;
    for (uint32_t c = 0; c < n_cells; c++)
        most = fmax(most, draw[c]); /* of NaN and a number: the number */
    return most;
}

/* Draws of ln rates become draws of how far a cell is behind the best. */
static void to_distances(const struct dlb_race *race, double *draws)
{
    uint32_t n_cells = race->input.n_cells;
    for (uint32_t d = 0; d < N_DRAWS; d++) {
        double *draw = draws + (size_t)d * n_cells, best = highest_of(draw, n_cells);
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
        if (!dlb_race_survives(race, c))
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
    double most = dlb_race_highest(race);
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (dlb_race_survives(race, c) && race->cells[c].probability < fmin(DROP, PASS_OVER * most))
            race->cells[c].state = DLB_RACE_DROPPED;
    race->leader = dlb_race_smallest(race, PASS_OVER * most);
}

static void find_threats(struct dlb_race *race, const double *draws)
{
    uint32_t n_cells = race->input.n_cells;
    double edge = -log1p(-race->input.tolerance);
    for (uint32_t c = 0; c < n_cells; c++) {
        uint32_t n_better = 0;
        if (!dlb_race_survives(race, c))
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
    int64_t certain = dlb_race_smallest(race, DLB_RACE_PREFER);
    uint32_t choice = (uint32_t)(certain >= 0 ? certain : race->leader);
    for (uint32_t c = 0; c < n_cells; c++) {
        uint32_t n_better = 0;
        for (size_t d = 0; dlb_race_survives(race, c) && c != choice && d < N_DRAWS; d++)
            n_better +=
                draws->exceptional[d * n_cells + c] > draws->usual[d * n_cells + choice] + edge;
        race->cells[c].doubt = (double)n_better / N_DRAWS;
    }
}

/* Whether a cell that runs on for that reason may be better than the choice. */
bool dlb_race_in_doubt(const struct dlb_race *race)
{
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (dlb_race_survives(race, c) && race->cells[c].doubt >= DOUBT)
            return true;
    return false;
}

/* That it is better than the leader by more than the tolerance, or than the choice if it is an
 * exception. */
double dlb_race_chance(const struct dlb_race_cell *cell)
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
        cell->runs = dlb_race_survives(race, c) &&
                     (c == race->leader || cell->threat >= THREAT || cell->doubt >= DOUBT);
        n += cell->runs;
    }
    for (; n < DLB_RACE_ALONGSIDE; n++) {
        int64_t next = -1;
        for (uint32_t c = 0; c < race->input.n_cells; c++)
            if (dlb_race_survives(race, c) && !race->cells[c].runs &&
                (next < 0 || threatens_more(&race->cells[c], &race->cells[next])))
                next = c;
        if (next < 0)
            break;
        race->cells[next].runs = true;
    }
    for (uint32_t c = 0; c < race->input.n_cells; c++)
        if (dlb_race_survives(race, c))
            race->cells[c].state = race->cells[c].runs ? DLB_RACE_RACING : DLB_RACE_SCREENED;
}

/* So many that the interval of the loss is about as wide as the tolerance to either side. */
uint32_t dlb_race_plan_fresh(const struct dlb_race *race)
{
    double half = FRESH_T * M_SQRT2 * race->scatter / race->input.tolerance;
    return (uint32_t)fmin(fmax(ceil(half * half), DLB_RACE_FRESH_MIN), FRESH_MAX);
}

/* A cell that loses nothing is within the tolerance with DLB_RACE_DECIDE where the standard error
 * of a difference is tolerance / NORMAL_DECIDE. */
double dlb_race_blocks(double scatter, double tolerance)
{
    double each = NORMAL_DECIDE * scatter / tolerance;
    return ceil(2 * each * each);
}

static void foresee(struct dlb_race *race)
{
    double n = n_measured(race, (uint32_t)race->leader);
    double needed = dlb_race_blocks(race->scatter, race->input.tolerance);
    race->noise_floor_frac = -expm1(-NORMAL_975 * race->scatter * sqrt(2 / n));
    race->blocks_more = dlb_race_plan_fresh(race);
    if (race->cells[race->leader].probability < DLB_RACE_DECIDE)
        race->blocks_more += fmax(needed - n, 1);
}

/* Empty if no cell is in. */
static struct dlb_race_draws draw(struct dlb_race *race, const bool *in)
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
    return draws;
}

bool dlb_race_is_contested(struct dlb_race *race, uint32_t cell)
{
    uint32_t n_cells = race->input.n_cells;
    double edge = -log1p(-race->input.tolerance);
    bool *in = dlb_mem_array(n_cells, sizeof(*in)), contested = false;
    for (uint32_t c = 0; c < n_cells; c++)
        in[c] = race->cells[c].state != DLB_RACE_FAILED && n_measured(race, c) > 0;
    struct dlb_race_draws draws = draw(race, in);
    for (uint32_t c = 0; c < n_cells && !contested; c++) {
        uint32_t n_better = 0;
        for (size_t d = 0; in[c] && c != cell && d < N_DRAWS; d++)
            n_better += draws.exceptional[d * n_cells + c] > draws.rate[d * n_cells + cell] + edge;
        contested = n_better >= CONTEST * N_DRAWS;
    }
    dlb_race_draws_free(&draws);
    free(in);
    return contested;
}

void dlb_race_look(struct dlb_race *race)
{
    bool *in = dlb_mem_array(race->input.n_cells, sizeof(*in));
    for (uint32_t c = 0; c < race->input.n_cells; c++) {
        if (dlb_race_survives(race, c) && n_measured(race, c) == 0)
            dlb_race_fail(race, c);
        in[c] = dlb_race_survives(race, c);
    }
    struct dlb_race_draws draws = draw(race, in);
    race->n_looked = race->n_blocks;
    race->leader = -1;
    if (draws.rate) {
        to_distances(race, draws.rate);
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

/* Distances to the best of each draw. Those of the cell that is the least behind on average. */
static uint32_t find_best(const struct dlb_race *race, const double *draws, const bool *in)
{
    uint32_t n_cells = race->input.n_cells, best = 0;
    double least = INFINITY;
    for (uint32_t c = 0; c < n_cells; c++) {
        double sum = 0;
        for (size_t d = 0; in[c] && d < N_DRAWS; d++)
            sum += draws[d * n_cells + c];
        if (in[c] && sum < least) {
            least = sum;
            best = c;
        }
    }
    return best;
}

/* Some cell is the best of each draw: where cells are equal, each is behind the best of most. So
 * the lower end and the middle are of the loss to one cell, `best`, and the upper end is of that to
 * any. Either is wider by exceptions, which pooled with the others look like them: the lower end if
 * the cell may be one, the upper end if the best may. `draws`: how far behind; highest: [n_draws].
 */
static struct dlb_race_interval loss_of(const struct dlb_race *race,
                                        const struct dlb_race_draws *draws, const double *highest,
                                        uint32_t cell, uint32_t best)
{
    double *middle = dlb_mem_array(N_DRAWS, sizeof(*middle));
    double *low = dlb_mem_array(N_DRAWS, sizeof(*low));
    double *high = dlb_mem_array(N_DRAWS, sizeof(*high));
    for (size_t d = 0; d < N_DRAWS; d++) {
        const double *behind = draws->rate + d * race->input.n_cells;
        const double *exception = draws->exceptional + d * race->input.n_cells;
        double nearer = fmin(behind[cell], highest[d] - exception[cell]);
        double ahead = cell == best ? 0 : fmax(exception[best] - highest[d], 0);
        middle[d] = -expm1(-fmax(behind[cell] - behind[best], 0));
        low[d] = -expm1(-fmax(nearer - behind[best], 0));
        high[d] = -expm1(-behind[cell] - ahead);
    }
    struct dlb_race_interval loss = {dlb_quantile(middle, N_DRAWS, 0.5),
                                     dlb_quantile(low, N_DRAWS, LOSS_LOW),
                                     dlb_quantile(high, N_DRAWS, 0.975)};
    free(middle);
    free(low);
    free(high);
    return loss;
}

/* `rate` becomes how far a cell is behind the best. */
static void fill_losses(struct dlb_race *race, struct dlb_race_draws *draws, const bool *in)
{
    uint32_t n_cells = race->input.n_cells;
    double *highest = dlb_mem_array(N_DRAWS, sizeof(*highest));
    for (size_t d = 0; d < N_DRAWS; d++)
        highest[d] = highest_of(draws->rate + d * n_cells, n_cells);
    to_distances(race, draws->rate);
    uint32_t best = find_best(race, draws->rate, in);
    for (uint32_t c = 0; c < n_cells; c++)
        if (in[c])
            race->cells[c].loss_frac = loss_of(race, draws, highest, c, best);
    free(highest);
}

void dlb_race_estimate_losses(struct dlb_race *race)
{
    uint32_t n_cells = race->input.n_cells;
    bool *in = dlb_mem_array(n_cells, sizeof(*in));
    for (uint32_t c = 0; c < n_cells; c++)
        in[c] = race->cells[c].state != DLB_RACE_FAILED && n_measured(race, c) > 0;
    struct dlb_race_draws draws = draw(race, in);
    if (draws.rate) {
        fill_losses(race, &draws, in);
        dlb_race_judge_keys(race, draws.rate, N_DRAWS, in);
    }
    dlb_race_draws_free(&draws);
    free(in);
}
