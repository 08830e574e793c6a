/* Sweeps of 18 cells that are made up, to see how often the race (core/measure/race.h) and medians
 * with their intervals are right about them. Include once. */
#ifndef DLB_TESTS_SUPPORT_RACE_GRIDS_H
#define DLB_TESTS_SUPPORT_RACE_GRIDS_H

#include "core/base/rng.h"
#include "core/measure/disturbed.h"
#include "core/measure/race.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GRID_CELLS 18
#define GRID_RUNS 216     /* that a grid may take, but for those that GRID_STEAL measures again */
#define GRID_OVERRUN 0.05 /* share by which a last phase may exceed them where these count */
#define GRID_TOLERANCE 0.02
#define GRID_SEED                                                                                  \
    1000000 /* of the first grid: none of those by which the race's limits were chosen */

enum grid_shape {
    GRID_EQUAL,
    GRID_TEN_LOSE,    /* ten of the cells, by chance */
    GRID_SMALL_LOSE,  /* the ten smallest */
    GRID_ALL_BUT_ONE, /* one cell, by chance, is the best */
    GRID_SATURATES,   /* rate = min(limit, workers), 6 numbers of workers x 3 of prefetch */
    GRID_INTERACTS,   /* as above; less prefetch costs more where workers are few */
};

enum grid_noise {
    GRID_NORMAL,
    GRID_THREEFOLD, /* cells' scatters differ up to threefold; the given one is their middle */
    GRID_T3,        /* Student's t with 3 degrees of freedom, of the same standard deviation */
    GRID_HITS,      /* 5% of the runs are 20% slower */
    GRID_LINEAR,    /* drift of 1% a block */
    GRID_WALK,      /* each block 3% off the last */
    GRID_WITHIN,    /* drift of 4% within each block */
    GRID_HIDDEN,    /* in a quarter of the blocks a stretch of runs is 15% slower */
    GRID_POOLED,    /* threefold; the given one is that of all runs together, as for one cell */
    GRID_STEAL,     /* as GRID_HIDDEN, but counters tell which runs were hit: they run again */
    GRID_STALLED,   /* in the first block all runs of the best cell's first value are 4 x slower */
    GRID_STEAL_WITHIN, /* as GRID_STEAL, and what runs again counts among GRID_RUNS */
};

struct grid_case {
    const char *name;
    enum grid_shape shape;
    double loss;
    enum grid_noise noise;
    double scatter; /* standard deviation of ln rate */
    bool one_key;   /* 18 values of one key, instead of 6 x 3 of two */
    /* Share of all grids that must be decided; 0: not asked. What slows runs unseen adds to the
     * scatter: with 3% of it it is noise of 7%, of which less is asked. */
    double decided;
};

/* Counts over grids. */
struct grid_tally {
    uint32_t n, decided, wrong, contradicted;
    uint32_t n_losses, covered_losses; /* of cells, to the best, by the model */
    uint32_t covered_rival, covered_best, n_runs;
    uint32_t old_decided[2], old_wrong[2]; /* medians, at 3 and 6 repetitions */
};

struct grid {
    const struct grid_case *of;
    struct dlb_rng rng;
    uint32_t rank[GRID_CELLS], levels[2 * GRID_CELLS];
    double truth[GRID_CELLS], scatter[GRID_CELLS], best, walk;
    uint32_t stalled;             /* that value; GRID_CELLS: none */
    double level;                 /* of the last block */
    uint32_t n_repeated, n_quiet; /* runs that measured again what was stolen from */
};

static inline void grid_shuffle(struct grid *g, uint32_t *order, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)dlb_rng_below(&g->rng, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static inline double grid_workers_rate(const struct grid *g, uint32_t cell, double limit)
{
    static const double workers[] = {1, 2, 3, 4, 6, 8}, prefetch[] = {1, 2, 4};
    double w = workers[cell / 3], p = prefetch[cell % 3];
    if (g->of->shape == GRID_SATURATES)
        return fmin(limit, w);
    double fed = w * (1 - 0.3 / p / (1 + 0.5 * w));
    return fmin(limit, fed) * (w < limit ? 1 - 0.05 / p : 1);
}

static inline void grid_init(struct grid *g, const struct grid_case *of, uint64_t seed)
{
    *g =
        (struct grid){.of = of, .rng = dlb_rng_seed(seed, of->shape, of->noise), .best = -INFINITY};
    uint32_t by_chance[GRID_CELLS];
    for (uint32_t c = 0; c < GRID_CELLS; c++)
        by_chance[c] = c;
    grid_shuffle(g, by_chance, GRID_CELLS);
    double limit = 3 + 3 * dlb_rng_unit(&g->rng);
    for (uint32_t c = 0; c < GRID_CELLS; c++) {
        uint32_t nth = of->shape == GRID_SMALL_LOSE ? c : by_chance[c];
        uint32_t n_lose = of->shape == GRID_ALL_BUT_ONE ? GRID_CELLS - 1 : 10;
        g->rank[c] = c;
        if (of->one_key) {
            g->levels[c] = c;
        } else {
            g->levels[2 * c] = c / 3;
            g->levels[2 * c + 1] = c % 3;
        }
        if (of->shape >= GRID_SATURATES)
            g->truth[c] = log(grid_workers_rate(g, c, limit));
        else if (of->shape != GRID_EQUAL && nth < n_lose)
            g->truth[c] = log1p(-of->loss);
        g->best = fmax(g->best, g->truth[c]);
        g->scatter[c] = of->scatter;
        if (of->noise == GRID_THREEFOLD || of->noise == GRID_POOLED)
            g->scatter[c] *= pow(3, dlb_rng_unit(&g->rng) - 0.5);
        if (of->noise == GRID_POOLED) /* mean of 3^(2 u - 1), u from 0 to 1 */
            g->scatter[c] /= sqrt((3 - 1.0 / 3) / (2 * log(3)));
    }
}

static inline double grid_noise_of(struct grid *g, uint32_t cell)
{
    double z = dlb_rng_normal(&g->rng), squares = 0;
    if (g->of->noise == GRID_T3) {
        for (int i = 0; i < 3; i++)
            squares += pow(dlb_rng_normal(&g->rng), 2);
        z /= sqrt(squares); /* t3 has the variance 3 */
    }
    double hit = g->of->noise == GRID_HITS && dlb_rng_unit(&g->rng) < 0.05 ? log(0.8) : 0;
    return g->scatter[cell] * z + hit;
}

/* Runs of a block that are stolen from, by their place in it. */
struct grid_stretch {
    uint32_t from, until;
};

static inline bool grid_is_stolen(const struct grid_stretch *stolen, uint32_t at)
{
    return at >= stolen->from && at < stolen->until;
}

static inline double grid_run(struct grid *g, uint32_t cell, double drift, bool is_stolen)
{
    double stolen = is_stolen ? log(0.85) : 0, stalled = 0;
    if (g->of->noise == GRID_STALLED && g->levels[cell * (g->of->one_key ? 1 : 2)] == g->stalled)
        stalled = log(0.25);
    return g->truth[cell] + g->level + drift + stolen + stalled + grid_noise_of(g, cell);
}

/* The value of the first key that the smallest of the best cells has. */
static inline uint32_t grid_best_value(const struct grid *g)
{
    uint32_t best = 0;
    for (uint32_t c = 1; c < GRID_CELLS; c++)
        if (g->truth[c] > g->truth[best])
            best = c;
    return g->levels[best * (g->of->one_key ? 1 : 2)];
}

/* At the end of a block of n runs what was stolen from is measured again, as the program does
 * (scenarios/run/again.h): the first quiet run counts, else the last. Returns the number of runs.
 */
static inline uint32_t grid_again(struct grid *g, const uint32_t *order, uint32_t n,
                                  const struct grid_stretch *stolen, double *ln_rate)
{
    uint32_t again[GRID_CELLS], n_again = 0, at = n;
    for (uint32_t i = 0; i < n; i++)
        if (grid_is_stolen(stolen, i))
            again[n_again++] = order[i];
    for (int round = 0; round < DLB_AGAIN_MAX && n_again > 0; round++) {
        uint32_t n_left = 0;
        if (dlb_again_is_pointless(g->n_repeated, g->n_quiet))
            break;
        for (uint32_t i = 0; i < n_again; i++, at++) {
            bool is_stolen = grid_is_stolen(stolen, at);
            ln_rate[again[i]] = grid_run(g, again[i], 0, is_stolen);
            g->n_repeated++;
            g->n_quiet += !is_stolen;
            if (is_stolen)
                again[n_left++] = again[i];
        }
        n_again = n_left;
    }
    return at - n;
}

/* Whether counters tell which runs were hit. */
static inline bool grid_is_counted(enum grid_noise noise)
{
    return noise == GRID_STEAL || noise == GRID_STEAL_WITHIN;
}

/* ln rates of a block, in which the cells with runs[c] run one after the other. Returns how many
 * runs it took. */
static inline uint32_t grid_block(struct grid *g, uint32_t block, const bool *runs, double *ln_rate)
{
    uint32_t order[GRID_CELLS], n = 0;
    struct grid_stretch stolen = {GRID_CELLS, 0};
    enum grid_noise noise = g->of->noise;
    for (uint32_t c = 0; c < GRID_CELLS; c++)
        if (runs[c])
            order[n++] = c;
    grid_shuffle(g, order, n);
    double level = 0.02 * dlb_rng_normal(&g->rng);
    g->walk += noise == GRID_WALK ? 0.03 * dlb_rng_normal(&g->rng) : 0;
    level += g->walk - (noise == GRID_LINEAR ? 0.01 * block : 0);
    g->level = level;
    g->stalled = block == 0 ? grid_best_value(g) : GRID_CELLS;
    if ((grid_is_counted(noise) || noise == GRID_HIDDEN) && dlb_rng_unit(&g->rng) < 0.25) {
        stolen.from = (uint32_t)dlb_rng_below(&g->rng, n);
        stolen.until = stolen.from + 1 + (uint32_t)dlb_rng_below(&g->rng, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        double drift = noise == GRID_WITHIN ? 0.04 * i / GRID_CELLS : 0;
        ln_rate[order[i]] = grid_run(g, order[i], drift, grid_is_stolen(&stolen, i));
    }
    return grid_is_counted(noise) ? n + grid_again(g, order, n, &stolen, ln_rate) : n;
}

static inline double grid_loss(const struct grid *g, uint32_t cell)
{
    return -expm1(g->truth[cell] - g->best);
}

static inline bool grid_is_wrong(const struct grid *g, uint32_t cell)
{
    return grid_loss(g, cell) > GRID_TOLERANCE + 1e-9;
}

static inline bool grid_covers(const struct dlb_race_interval *interval, double loss)
{
    return interval->low - 1e-12 <= loss && loss <= interval->high + 1e-12;
}

static inline struct dlb_race_input grid_input(const struct grid *g, uint64_t seed)
{
    return (struct dlb_race_input){.n_cells = GRID_CELLS,
                                   .n_keys = g->of->one_key ? 1 : 2,
                                   .rank = g->rank,
                                   .levels = g->levels,
                                   .tolerance = GRID_TOLERANCE,
                                   .seed = seed};
}

/* At the end of a race, or without one. */
static inline void grid_tally_race(const struct grid *g, const struct dlb_race *race,
                                   struct grid_tally *t)
{
    t->n++;
    for (uint32_t c = 0; c < GRID_CELLS; c++) {
        if (isnan(race->cells[c].loss_frac.median))
            continue;
        t->n_losses++;
        t->covered_losses += grid_covers(&race->cells[c].loss_frac, grid_loss(g, c));
    }
    if (race->stopped != DLB_RACE_DECIDED)
        return;
    uint32_t cell = (uint32_t)race->recommended;
    double to_rival = fmax(0, -expm1(g->truth[cell] - g->truth[race->rival]));
    t->decided++;
    t->wrong += grid_is_wrong(g, cell);
    t->covered_rival += grid_covers(&race->loss_frac, to_rival);
    t->covered_best += grid_covers(&race->loss_frac, grid_loss(g, cell));
}

/* Every cell in each of n_blocks, and no race. */
static inline void grid_alike(struct grid *g, uint32_t n_blocks, uint64_t seed,
                              struct grid_tally *t)
{
    const struct dlb_race_input input = grid_input(g, seed);
    bool runs[GRID_CELLS];
    double ln_rate[GRID_CELLS];
    struct dlb_race race;
    dlb_race_init(&race, &input);
    memset(runs, true, sizeof(runs));
    for (uint32_t b = 0; b < n_blocks; b++) {
        (void)grid_block(g, b, runs, ln_rate);
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            dlb_race_record(&race, b, c, exp(ln_rate[c]));
    }
    dlb_race_judge(&race);
    grid_tally_race(g, &race, t);
    dlb_race_free(&race);
}

/* n_taken: with what was measured again. Where that counts, it is foretold by its share so far, as
 * scenarios/sweep does. */
static inline struct dlb_race_budget grid_budget(const struct grid *g, const struct dlb_race *race,
                                                 uint32_t n_runs, uint32_t n_taken)
{
    if (g->of->noise != GRID_STEAL_WITHIN)
        return DLB_RACE_RUNS(GRID_RUNS - n_runs);
    double all = GRID_RUNS * (race->n_fresh > 0 ? 1 + GRID_OVERRUN : 1);
    double each = n_runs > 0 ? (double)n_taken / n_runs : 1;
    return (struct dlb_race_budget){.left = all - n_taken, .run = each};
}

static inline void grid_race(struct grid *g, uint64_t seed, struct grid_tally *t)
{
    const struct dlb_race_input input = grid_input(g, seed);
    struct dlb_race race;
    uint32_t n_runs = 0, n_taken = 0, block = 0, fresh_from = 0, n_fresh = 0;
    dlb_race_init(&race, &input);
    while (dlb_race_next(&race, grid_budget(g, &race, n_runs, n_taken))) {
        bool runs[GRID_CELLS];
        double ln_rate[GRID_CELLS];
        if (race.n_fresh > 0 && race.fresh_from != fresh_from) {
            n_fresh++;
            fresh_from = race.fresh_from;
        }
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            runs[c] = race.cells[c].runs;
        n_taken += grid_block(g, block, runs, ln_rate);
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            if (runs[c])
                dlb_race_record(&race, block, c, exp(ln_rate[c]));
        n_runs += dlb_race_block_runs(&race);
        block++;
    }
    t->n_runs += n_taken;
    t->contradicted += n_fresh > (race.stopped == DLB_RACE_DECIDED);
    grid_tally_race(g, &race, t);
    dlb_race_free(&race);
}

/* What medians and their intervals of n repetitions recommend: the smallest cell that loses
 * less than the tolerance to the best median at the upper end; nothing (-1) where only the best
 * does, and a smaller cell may. */
static inline int64_t grid_old_rule(double (*rate)[6], uint32_t n)
{
    uint32_t best = 0, n_good = 0, n_open = 0;
    int64_t found = -1;
    for (uint32_t c = 1; c < GRID_CELLS; c++)
        if (dlb_median(rate[c], n) > dlb_median(rate[best], n))
            best = c;
    for (uint32_t c = 0; c <= best; c++) {
        struct dlb_estimate loss = dlb_estimate_paired_loss(rate[c], rate[best], n);
        bool good = c == best || loss.high < GRID_TOLERANCE;
        n_good += good && c != best;
        n_open += !good && loss.low < GRID_TOLERANCE;
        if (good && found < 0)
            found = c;
    }
    return n_good == 0 && n_open > 0 ? -1 : found;
}

static inline void grid_old(struct grid *g, struct grid_tally *t)
{
    bool runs[GRID_CELLS];
    double ln_rate[GRID_CELLS], rate[GRID_CELLS][6];
    memset(runs, true, sizeof(runs));
    for (uint32_t b = 0; b < 6; b++) {
        (void)grid_block(g, b, runs, ln_rate);
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            rate[c][b] = exp(ln_rate[c]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        int64_t found = grid_old_rule(rate, i == 0 ? 3 : 6);
        t->old_decided[i] += found >= 0;
        t->old_wrong[i] += found >= 0 && grid_is_wrong(g, (uint32_t)found);
    }
}

#define GRID_CASES                                                                                 \
    {"equal", GRID_EQUAL, 0, GRID_NORMAL, 0.01, false, 0.95},                                      \
        {"equal", GRID_EQUAL, 0, GRID_NORMAL, 0.03, false, 0.9},                                   \
        {"equal", GRID_EQUAL, 0, GRID_NORMAL, 0.1, false, 0},                                      \
        {"ten lose 1%", GRID_TEN_LOSE, 0.01, GRID_NORMAL, 0.01, false, 0.95},                      \
        {"ten lose 1%", GRID_TEN_LOSE, 0.01, GRID_NORMAL, 0.03, false, 0.9},                       \
        {"ten lose 1%", GRID_TEN_LOSE, 0.01, GRID_NORMAL, 0.1, false, 0},                          \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_NORMAL, 0.01, false, 0.95},                      \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_NORMAL, 0.03, false, 0.9},                       \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_NORMAL, 0.1, false, 0},                          \
        {"ten lose 5%", GRID_TEN_LOSE, 0.05, GRID_NORMAL, 0.01, false, 0.95},                      \
        {"ten lose 5%", GRID_TEN_LOSE, 0.05, GRID_NORMAL, 0.03, false, 0.9},                       \
        {"ten lose 5%", GRID_TEN_LOSE, 0.05, GRID_NORMAL, 0.1, false, 0},                          \
        {"small lose 1%", GRID_SMALL_LOSE, 0.01, GRID_NORMAL, 0.03, false, 0.9},                   \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_NORMAL, 0.01, false, 0.95},                  \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_NORMAL, 0.03, false, 0.9},                   \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_NORMAL, 0.1, false, 0},                      \
        {"small lose 5%", GRID_SMALL_LOSE, 0.05, GRID_NORMAL, 0.03, false, 0.9},                   \
        {"small lose 5%", GRID_SMALL_LOSE, 0.05, GRID_NORMAL, 0.1, false, 0},                      \
        {"one is best by 1%", GRID_ALL_BUT_ONE, 0.01, GRID_NORMAL, 0.03, false, 0.9},              \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_NORMAL, 0.01, false, 0.95},             \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_NORMAL, 0.03, false, 0.9},              \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_NORMAL, 0.1, false, 0},                 \
        {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_NORMAL, 0.01, false, 0.95},             \
        {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_NORMAL, 0.03, false, 0.9},              \
        {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_NORMAL, 0.1, false, 0},                 \
        {"saturates", GRID_SATURATES, 0, GRID_NORMAL, 0.01, false, 0.95},                          \
        {"saturates", GRID_SATURATES, 0, GRID_NORMAL, 0.03, false, 0.9},                           \
        {"saturates", GRID_SATURATES, 0, GRID_NORMAL, 0.1, false, 0},                              \
        {"interacts", GRID_INTERACTS, 0, GRID_NORMAL, 0.01, false, 0.95},                          \
        {"interacts", GRID_INTERACTS, 0, GRID_NORMAL, 0.03, false, 0.65},                          \
        {"interacts", GRID_INTERACTS, 0, GRID_NORMAL, 0.1, false, 0},                              \
        {"equal", GRID_EQUAL, 0, GRID_THREEFOLD, 0.03, false, 0.9},                                \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_THREEFOLD, 0.03, false, 0.9},                    \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_THREEFOLD, 0.03, false, 0.9},                \
        {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_THREEFOLD, 0.03, false, 0.9},           \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_THREEFOLD, 0.01, false, 0.95},          \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_THREEFOLD, 0.03, false, 0.9},           \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_THREEFOLD, 0.1, false, 0},              \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_T3, 0.03, false, 0.9},                  \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_HITS, 0.01, false, 0.95},               \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_HITS, 0.03, false, 0.9},                \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_HITS, 0.1, false, 0},                   \
        {"saturates", GRID_SATURATES, 0, GRID_THREEFOLD, 0.03, false, 0.9},                        \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_T3, 0.03, false, 0.9},                           \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_T3, 0.03, false, 0.9},                       \
        {"saturates", GRID_SATURATES, 0, GRID_T3, 0.03, false, 0.9},                               \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_HITS, 0.01, false, 0.95},                        \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_HITS, 0.03, false, 0.9},                         \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_HITS, 0.03, false, 0.9},                     \
        {"saturates", GRID_SATURATES, 0, GRID_HITS, 0.03, false, 0.9},                             \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_LINEAR, 0.03, false, 0.9},                       \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_WALK, 0.03, false, 0.9},                         \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_WITHIN, 0.01, false, 0.95},                      \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_WITHIN, 0.03, false, 0.9},                       \
        {"saturates", GRID_SATURATES, 0, GRID_WITHIN, 0.01, false, 0.95},                          \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_STEAL, 0.01, false, 0.95},                       \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_STEAL, 0.03, false, 0.9},                        \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_STEAL, 0.03, false, 0.9},                    \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_STEAL, 0.03, false, 0.9},               \
        {"equal", GRID_EQUAL, 0, GRID_STEAL, 0.03, false, 0.9},                                    \
        {"saturates", GRID_SATURATES, 0, GRID_STEAL, 0.01, false, 0.95},                           \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_STEAL_WITHIN, 0.01, false, 0.95},                \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_STEAL_WITHIN, 0.03, false, 0.65},                \
        {"equal", GRID_EQUAL, 0, GRID_STEAL_WITHIN, 0.03, false, 0.65},                            \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_STEAL_WITHIN, 0.03, false, 0.65},       \
        {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_STALLED, 0.01, false, 0.95},            \
        {"one is best by 5%", GRID_ALL_BUT_ONE, 0.05, GRID_STALLED, 0.03, false, 0.9},             \
        {"saturates", GRID_SATURATES, 0, GRID_STALLED, 0.01, false, 0.95},                         \
        {"saturates", GRID_SATURATES, 0, GRID_STALLED, 0.03, false, 0.9},                          \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_HIDDEN, 0.01, false, 0.95},                      \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_HIDDEN, 0.03, false, 0.5},                       \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_HIDDEN, 0.03, false, 0.5},                   \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_HIDDEN, 0.03, false, 0.5},              \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_LINEAR, 0.03, false, 0.9},              \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_WALK, 0.03, false, 0.9},                \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_WITHIN, 0.03, false, 0.9},              \
        {"saturates", GRID_SATURATES, 0, GRID_HIDDEN, 0.01, false, 0.95},                          \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_NORMAL, 0.03, true, 0.9},                        \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_NORMAL, 0.03, true, 0.9},               \
        {"equal", GRID_EQUAL, 0, GRID_POOLED, 0.03, false, 0.9},                                   \
        {"ten lose 3%", GRID_TEN_LOSE, 0.03, GRID_POOLED, 0.03, false, 0.9},                       \
        {"small lose 3%", GRID_SMALL_LOSE, 0.03, GRID_POOLED, 0.03, false, 0.9},                   \
        {"one is best by 3%", GRID_ALL_BUT_ONE, 0.03, GRID_POOLED, 0.03, false, 0.9},

static inline const char *grid_noise_name(enum grid_noise noise)
{
    static const char *const names[] = {"normal",
                                        "normal, differs threefold",
                                        "t3",
                                        "5% hit by 20%",
                                        "linear drift",
                                        "random walk",
                                        "drift within blocks",
                                        "runs slowed, unseen",
                                        "normal, threefold, pooled",
                                        "steal",
                                        "first runs of the best value 4 x slower",
                                        "steal, within the 216"};
    return names[noise];
}

#endif
