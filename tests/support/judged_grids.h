/* Sweeps of 18 cells that are made up (race_grids.h): raced, and then judged as a sweep's results
 * are. Include once. */
#ifndef DLB_TESTS_JUDGED_GRIDS_H
#define DLB_TESTS_JUDGED_GRIDS_H

#include "core/measure/verdict.h"
#include "tests/support/judged.h"
#include "tests/support/race_grids.h"

#define GRID_RATE 1e6 /* samples/s of a cell whose ln rate is 0 */

struct judged_case {
    struct grid_case grid;
    double gain; /* ceiling / the best cell */
};

/* Counts over grids; `cells` and `wrong_class` over their cells. */
struct judged_tally {
    uint32_t n, decided, wrong, too_busy, offered;
    uint32_t beyond_floor; /* of those offered undecided: they truly lose more than it */
    uint32_t cells, wrong_class, contradicted;
};

static inline double grid_ceiling(const struct grid *g, const struct judged_case *of)
{
    return GRID_RATE * of->gain * exp(g->best + g->level);
}

/* A block's runs and their ceiling. The device computes as long as the ceiling's does, and waits
 * otherwise. */
static inline void grid_put(struct judged *t, struct grid *g, const struct judged_case *of,
                            uint32_t block, const bool *runs)
{
    double ln_rate[GRID_CELLS], ceiling;
    struct dlb_race *race = &t->plan.race->race;
    bool fresh = race->n_fresh > 0;
    (void)grid_block(g, block, runs, ln_rate);
    ceiling = grid_ceiling(g, of);
    for (uint32_t c = 0; c < GRID_CELLS; c++) {
        double rate = GRID_RATE * exp(ln_rate[c]);
        if (!runs[c])
            continue;
        dlb_race_record(race, block, c, rate);
        put(&t->results.cells[c], rep(rate, fmin(1, rate / ceiling), block, 1000));
    }
    if (!fresh)
        put(&t->results.ceilings[0],
            rep(ceiling * exp(of->grid.scatter * dlb_rng_normal(&g->rng)), 1, block, 0));
}

/* A race of at most n_runs, and its results. */
static inline void grid_hold(struct judged *t, struct grid *g, const struct judged_case *of,
                             uint64_t seed, double n_runs)
{
    struct dlb_race *race = &t->plan.race->race;
    struct dlb_race_input input = race->input;
    input.seed = seed;
    dlb_race_free(race);
    dlb_race_init(race, &input);
    while (dlb_race_next(race, DLB_RACE_RUNS(n_runs))) {
        bool runs[GRID_CELLS];
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            runs[c] = race->cells[c].runs;
        n_runs -= dlb_race_block_runs(race);
        grid_put(t, g, of, race->n_blocks, runs);
    }
    t->plan.n_blocks = race->n_blocks;
}

/* Contradicted: a cell is INPUT-BOUND, and one that would gain as much or more is not. */
static inline void grid_count_classes(const struct judged *t, const struct grid *g, double gain,
                                      struct judged_tally *tally)
{
    double lowest_input = INFINITY, highest_below = 0;
    for (uint32_t c = 0; c < GRID_CELLS; c++) {
        enum dlb_verdict_class klass = t->j.cells[c].verdict.klass;
        double is = gain * exp(g->best - g->truth[c]);
        bool input = klass == DLB_V_INPUT_BOUND;
        bool below = klass == DLB_V_COMPUTE_BOUND || klass == DLB_V_BALANCED;
        tally->cells++;
        tally->wrong_class += (input && is < DLB_GAIN_CLEAR) || (below && is > DLB_GAIN_CLEAR);
        lowest_input = input ? fmin(lowest_input, is) : lowest_input;
        highest_below = below ? fmax(highest_below, is) : highest_below;
    }
    tally->contradicted += lowest_input < highest_below * (1 + 1e-9);
}

static inline void grid_count(const struct judged *t, const struct grid *g,
                              struct judged_tally *tally)
{
    const struct dlb_judgement *j = &t->j;
    bool pasted = j->pytorch[0] != '\0', decided = j->recommended >= 0;
    tally->n++;
    tally->decided += decided;
    tally->wrong += decided && grid_is_wrong(g, (uint32_t)j->recommended);
    tally->too_busy += j->too_busy;
    if (decided || !pasted)
        return;
    double loss = grid_loss(g, (uint32_t)j->best);
    tally->offered++;
    tally->beyond_floor += loss > fmax(j->noise_floor_frac, GRID_TOLERANCE);
}

static inline void grid_judge(const struct judged_case *of, uint64_t seed, double n_runs,
                              struct judged *t, struct grid *g)
{
    static const char *const settings[] = {
        "sweep.exhaustive=false", "sweep.loader.num_workers=[1, 2, 3, 4, 6, 8]",
        "sweep.loader.prefetch_factor=[1, 2, 4]", "device.step_ms=100", NULL};
    grid_init(g, &of->grid, seed);
    open_judged(t, settings);
    grid_hold(t, g, of, seed, n_runs);
    judge(t);
}

#endif
