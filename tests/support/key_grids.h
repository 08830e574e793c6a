/* Sweeps of 3 x 3 x 2 values of three keys that are made up, to see how often a key that is said to
 * make no difference makes one. Include once. */
#ifndef DLB_TESTS_SUPPORT_KEY_GRIDS_H
#define DLB_TESTS_SUPPORT_KEY_GRIDS_H

#include "core/measure/noise.h"
#include "tests/support/race_grids.h"

#define KEYS 3 /* as numbers of workers, prefetch_factor, pin_memory */

/* Where the last two keys have their effects. */
enum key_where { KEY_EVERYWHERE, KEY_FEW_WORKERS, KEY_MOST_WORKERS };

struct key_case {
    const char *name;
    enum key_where where;
    double deviation; /* standard deviation of what a cell has for itself */
    enum grid_noise noise;
    double scatter;
};

/* Who says it: the race, or intervals of pairs after 3 and after 6 repetitions of each cell. */
enum key_rule { KEY_RACE, KEY_PAIRS_3, KEY_PAIRS_6, KEY_N_RULES };

/* Keys by what they truly change at the cell that is recommended. */
enum key_size { KEY_NONE, KEY_BELOW, KEY_LITTLE, KEY_MUCH, KEY_N_SIZES };
static const double key_limits[KEY_N_SIZES] = {0.002, GRID_TOLERANCE, 0.03, INFINITY};

struct key_tally {
    uint32_t n[KEY_N_RULES][KEY_N_SIZES], said[KEY_N_RULES][KEY_N_SIZES];
};

struct key_grid {
    struct grid_case of;
    struct grid g;
    uint32_t levels[KEYS * GRID_CELLS];
};

/* Nothing, below the tolerance, or beyond it: as often. The other levels are between. */
static inline void key_effects(struct dlb_rng *rng, uint32_t n, double *effects)
{
    static const double sizes[] = {0, 0.01, 0.025, 0.03, 0.05};
    double size = sizes[dlb_rng_below(rng, 5)];
    uint32_t worst = (uint32_t)dlb_rng_below(rng, n), best = (uint32_t)dlb_rng_below(rng, n - 1);
    best += best >= worst;
    for (uint32_t i = 0; i < n; i++)
        effects[i] = i == worst ? log1p(-size) : i == best ? 0 : log1p(-size * dlb_rng_unit(rng));
}

static inline void key_init(struct key_grid *k, const struct key_case *of, uint64_t seed)
{
    double workers[3] = {log(0.5), 0, 0}, prefetch[3], pin[2];
    *k = (struct key_grid){.of = {.noise = of->noise, .scatter = of->scatter}};
    k->g = (struct grid){.of = &k->of, .rng = dlb_rng_seed(seed, of->where, of->noise)};
    struct dlb_rng *rng = &k->g.rng;
    workers[1] = -0.15 * dlb_rng_unit(rng);
    key_effects(rng, 3, prefetch);
    key_effects(rng, 2, pin);
    for (uint32_t c = 0; c < GRID_CELLS; c++) {
        uint32_t level[KEYS] = {c / 6, c / 2 % 3, c % 2};
        bool has = of->where == KEY_EVERYWHERE || (of->where == KEY_MOST_WORKERS) == (c / 6 == 2);
        memcpy(&k->levels[(size_t)c * KEYS], level, sizeof(level));
        k->g.truth[c] = workers[level[0]] + (has ? prefetch[level[1]] + pin[level[2]] : 0) +
                        of->deviation * dlb_rng_normal(rng);
        k->g.rank[c] = c;
        k->g.scatter[c] =
            of->scatter * (of->noise == GRID_THREEFOLD ? pow(3, dlb_rng_unit(rng) - 0.5) : 1);
    }
}

static inline bool key_apart(const struct key_grid *k, uint32_t key, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < KEYS; i++)
        if ((k->levels[a * KEYS + i] == k->levels[b * KEYS + i]) == (i == key))
            return false;
    return true;
}

static inline void key_count(const struct key_grid *k, enum key_rule rule, uint32_t key,
                             uint32_t base, bool said, struct key_tally *t)
{
    double most = 0;
    int size = KEY_NONE;
    for (uint32_t c = 0; c < GRID_CELLS; c++)
        if (key_apart(k, key, base, c))
            most = fmax(most, -expm1(-fabs(k->g.truth[c] - k->g.truth[base])));
    while (most > key_limits[size] + 1e-9)
        size++;
    t->n[rule][size]++;
    t->said[rule][size] += said;
}

static inline void key_race(struct key_grid *k, uint64_t seed, struct key_tally *t)
{
    const struct dlb_race_input input = {.n_cells = GRID_CELLS,
                                         .n_keys = KEYS,
                                         .rank = k->g.rank,
                                         .levels = k->levels,
                                         .tolerance = GRID_TOLERANCE,
                                         .seed = seed};
    struct dlb_race race;
    uint32_t n_runs = 0;
    dlb_race_init(&race, &input);
    while (dlb_race_next(&race, DLB_RACE_RUNS(GRID_RUNS - n_runs))) {
        bool runs[GRID_CELLS];
        double ln_rate[GRID_CELLS];
        uint32_t block = race.n_blocks;
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            runs[c] = race.cells[c].runs;
        (void)grid_block(&k->g, block, runs, ln_rate);
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            if (runs[c])
                dlb_race_record(&race, block, c, exp(ln_rate[c]));
        n_runs += dlb_race_block_runs(&race);
    }
    for (uint32_t key = 0; key < KEYS; key++)
        key_count(k, KEY_RACE, key, (uint32_t)race.base, race.keys[key].same >= DLB_RACE_SAME, t);
    dlb_race_free(&race);
}

static inline struct dlb_noise key_noise(double (*rate)[6], uint32_t n)
{
    struct dlb_noise_rep reps[GRID_CELLS * 6];
    struct dlb_noise noise;
    for (uint32_t i = 0; i < GRID_CELLS * n; i++)
        reps[i] = (struct dlb_noise_rep){i / n, i % n, rate[i / n][i % n]};
    dlb_noise_of(reps, GRID_CELLS * n, n, &noise);
    return noise;
}

static inline void key_pairs(struct key_grid *k, struct key_tally *t)
{
    bool runs[GRID_CELLS];
    double ln_rate[GRID_CELLS], rate[GRID_CELLS][6];
    memset(runs, true, sizeof(runs));
    k->g.walk = 0;
    for (uint32_t b = 0; b < 6; b++) {
        (void)grid_block(&k->g, b, runs, ln_rate);
        for (uint32_t c = 0; c < GRID_CELLS; c++)
            rate[c][b] = exp(ln_rate[c]);
    }
    for (uint32_t n = 3; n <= 6; n += 3) {
        int64_t base = grid_old_rule(rate, n), best = 0;
        for (uint32_t c = 1; c < GRID_CELLS; c++)
            if (dlb_median(rate[c], n) > dlb_median(rate[best], n))
                best = c;
        base = base < 0 ? best : base;
        struct dlb_noise noise = key_noise(rate, n);
        for (uint32_t key = 0; key < KEYS; key++) {
            bool said = true;
            for (uint32_t c = 0; c < GRID_CELLS; c++)
                if (key_apart(k, key, (uint32_t)base, c))
                    said = said && dlb_noise_equal(&noise, rate[c], rate[base], n, GRID_TOLERANCE);
            key_count(k, n == 3 ? KEY_PAIRS_3 : KEY_PAIRS_6, key, (uint32_t)base, said, t);
        }
    }
}

#define KEY_CASES                                                                                  \
    {"everywhere", KEY_EVERYWHERE, 0, GRID_NORMAL, 0.01},                                          \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_NORMAL, 0.03},                                      \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_NORMAL, 0.1},                                       \
        {"with most workers", KEY_MOST_WORKERS, 0, GRID_NORMAL, 0.01},                             \
        {"with most workers", KEY_MOST_WORKERS, 0, GRID_NORMAL, 0.03},                             \
        {"with most workers", KEY_MOST_WORKERS, 0, GRID_NORMAL, 0.1},                              \
        {"with few workers", KEY_FEW_WORKERS, 0, GRID_NORMAL, 0.01},                               \
        {"with few workers", KEY_FEW_WORKERS, 0, GRID_NORMAL, 0.03},                               \
        {"with few workers", KEY_FEW_WORKERS, 0, GRID_NORMAL, 0.1},                                \
        {"and each cell 0.7%", KEY_EVERYWHERE, 0.007, GRID_NORMAL, 0.01},                          \
        {"and each cell 0.7%", KEY_EVERYWHERE, 0.007, GRID_NORMAL, 0.03},                          \
        {"and each cell 0.7%", KEY_EVERYWHERE, 0.007, GRID_NORMAL, 0.1},                           \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_THREEFOLD, 0.03},                                   \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_T3, 0.03},                                          \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_HITS, 0.01},                                        \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_HIDDEN, 0.01},                                      \
        {"everywhere", KEY_EVERYWHERE, 0, GRID_WALK, 0.03},

#endif
