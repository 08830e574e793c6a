/* The operating characteristics of the race, as tables for docs/measurement.md; with "keys", those
 * of the keys that are said to make no difference.
 *
 * usage: bench_race [GRIDS [FIRST_CASE [N_CASES]]]
 *        bench_race alike [GRIDS [FIRST_CASE [N_CASES]]]     without a race: 3, 6 and 12
 * repetitions bench_race keys [GRIDS] */
#include "tests/support/key_grids.h"

#include <stdlib.h>

static double percent(uint32_t n, uint32_t of)
{
    return of ? 100.0 * n / of : 0;
}

static void print_row(const struct grid_case *of, const struct grid_tally *t)
{
    printf("| %s%s | %s, %g%% | %.0f / %.0f | %.0f / %.0f | %.1f | %.1f | %.1f | %.0f | %.1f / "
           "%.1f | %.1f |\n",
           of->name, of->one_key ? ", one key" : "", grid_noise_name(of->noise), of->scatter * 100,
           percent(t->old_decided[0], t->n), percent(t->old_decided[1], t->n),
           percent(t->old_wrong[0], t->old_decided[0]), percent(t->old_wrong[1], t->old_decided[1]),
           percent(t->decided, t->n), percent(t->wrong, t->decided), percent(t->contradicted, t->n),
           (double)t->n_runs / t->n, percent(t->covered_rival, t->decided),
           percent(t->covered_best, t->decided), percent(t->covered_losses, t->n_losses));
    (void)fflush(stdout);
}

static void print_rule(const struct key_tally *t, enum key_rule rule)
{
    const uint32_t *n = t->n[rule], *said = t->said[rule];
    uint32_t n_wrong = said[KEY_LITTLE] + said[KEY_MUCH];
    printf(" %.0f / %.0f |", percent(said[KEY_NONE], n[KEY_NONE]),
           percent(said[KEY_BELOW], n[KEY_BELOW]));
    printf(" %u of %u |", n_wrong, n_wrong + said[KEY_NONE] + said[KEY_BELOW]);
}

static int print_keys(uint32_t n_grids)
{
    static const struct key_case cases[] = {KEY_CASES};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct key_tally t = {0};
        for (uint32_t seed = 0; seed < n_grids; seed++) {
            struct key_grid k;
            key_init(&k, &cases[i], seed);
            key_race(&k, seed, &t);
            key_pairs(&k, &t);
        }
        printf("| %s | %s, %g%% |", cases[i].name, grid_noise_name(cases[i].noise),
               cases[i].scatter * 100);
        for (int rule = 0; rule < KEY_N_RULES; rule++)
            print_rule(&t, rule);
        printf("\n");
        (void)fflush(stdout);
    }
    return 0;
}

static void print_alike(const struct grid_case *of, uint32_t n_grids)
{
    static const uint32_t n_blocks[] = {3, 6, 12};
    printf("| %s%s | %s, %g%% |", of->name, of->one_key ? ", one key" : "",
           grid_noise_name(of->noise), of->scatter * 100);
    for (size_t i = 0; i < sizeof(n_blocks) / sizeof(*n_blocks); i++) {
        struct grid_tally t = {0};
        for (uint32_t seed = GRID_SEED; seed < GRID_SEED + n_grids; seed++) {
            struct grid g;
            grid_init(&g, of, seed);
            grid_alike(&g, n_blocks[i], seed, &t);
        }
        printf(" %.1f, %u wrong, %.1f |", percent(t.decided, t.n), t.wrong,
               percent(t.covered_losses, t.n_losses));
    }
    printf("\n");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "keys") == 0)
        return print_keys(argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100);
    static const struct grid_case cases[] = {GRID_CASES};
    uint32_t n_cases = sizeof(cases) / sizeof(*cases);
    bool alike = argc > 1 && strcmp(argv[1], "alike") == 0;
    char **given = argv + 1 + alike;
    int n_given = argc - 1 - alike;
    uint32_t n = n_given > 0 ? (uint32_t)strtoul(given[0], NULL, 10) : 100;
    uint32_t first = n_given > 1 ? (uint32_t)strtoul(given[1], NULL, 10) : 0;
    uint32_t until = n_given > 2 ? first + (uint32_t)strtoul(given[2], NULL, 10) : n_cases;
    for (uint32_t i = first; alike && i < until && i < n_cases; i++)
        print_alike(&cases[i], n);
    for (uint32_t i = first; !alike && i < until && i < n_cases; i++) {
        struct grid_tally t = {0};
        for (uint32_t seed = GRID_SEED; seed < GRID_SEED + n; seed++) {
            struct grid g;
            grid_init(&g, &cases[i], seed);
            grid_race(&g, seed, &t);
            g.walk = 0;
            grid_old(&g, &t);
        }
        print_row(&cases[i], &t);
    }
    return 0;
}
