/* How often the interval of the last phase of a race contains the truth: the figures of
 * docs/measurement.md, with fewer pairs. */
#include "core/base/rng.h"
#include "core/measure/race_fresh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N_SIMULATED 4000
#define LOSS 0.1
#define SCATTER 0.03 /* that the race knows, about, of one run */
#define LEAST 0.92

struct pairs {
    const char *name;
    double scatter[2]; /* of the two cells, in SCATTER */
    double slower;     /* 5% of the runs are slower by this, in SCATTER */
    bool t3;
};

static const struct pairs cases[] = {
    {"normal", {1, 1}, 0, false},
    {"half as noisy", {0.5, 0.5}, 0, false},
    {"one is noisier", {0.5, 1.5}, 0, false},
    {"noisier", {1.5, 1.5}, 0, false},
    {"three times as noisy", {3, 3}, 0, false},
    {"t3", {1, 1}, 0, true},
    {"noisier t3", {1.5, 1.5}, 0, true},
    {"hit by 7", {1, 1}, 7, false},
    {"hit by 20", {1, 1}, 20, false},
    {"noisier, hit by 7", {1.5, 1.5}, 7, false},
};

static double noise_of(const struct pairs *of, int cell, struct dlb_rng *rng)
{
    double z = dlb_rng_normal(rng), squares = 0;
    for (int i = 0; of->t3 && i < 3; i++)
        squares += pow(dlb_rng_normal(rng), 2);
    z /= of->t3 ? sqrt(squares) : 1; /* t3 has the variance 3 */
    double hit = dlb_rng_unit(rng) < 0.05 ? of->slower : 0;
    return SCATTER * (of->scatter[cell] * z - hit);
}

static bool covers(const struct pairs *of, uint32_t n, struct dlb_rng *rng)
{
    double rate[2 * 8];
    for (uint32_t i = 0; i < 2 * n; i++)
        rate[i] = noise_of(of, (int)(i % 2), rng) + (i % 2 ? 0 : log1p(-LOSS));
    struct dlb_race race = {.input = {.n_cells = 2},
                            .n_blocks = n,
                            .ln_rate = rate,
                            .scatter = SCATTER * exp(0.12 * dlb_rng_normal(rng)),
                            .rival = 1};
    struct dlb_race_interval loss = dlb_race_fresh_loss(&race, 0.05);
    assert_true(loss.low <= loss.median && loss.median <= loss.high);
    return loss.low <= LOSS && LOSS <= loss.high;
}

static void intervals_cover_the_loss(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint32_t n = DLB_RACE_FRESH_MIN; n <= 8; n++) {
            struct dlb_rng rng = dlb_rng_seed(11, i, n);
            double share = 0;
            for (int s = 0; s < N_SIMULATED; s++)
                share += covers(&cases[i], n, &rng) ? 1.0 / N_SIMULATED : 0;
            print_message("%s, %u pairs: %.1f%%\n", cases[i].name, n, 100 * share);
            if (share < LEAST)
                fail_msg("%s, %u pairs: %.1f%%", cases[i].name, n, 100 * share);
        }
}

static void too_few_pairs_say_nothing(void **state)
{
    (void)state;
    double rate[2 * 8];
    for (uint32_t i = 0; i < 16; i++)
        rate[i] = i < 8 ? (double)NAN : 1;
    struct dlb_race race = {
        .input = {.n_cells = 2}, .n_blocks = 8, .ln_rate = rate, .scatter = SCATTER, .rival = 1};
    assert_true(isnan(dlb_race_fresh_loss(&race, 0.05).median));
}

/* Pairs that are all alike, and a scatter that is not known. */
static void pairs_that_are_equal(void **state)
{
    (void)state;
    double rate[2 * 6];
    for (uint32_t i = 0; i < 12; i++)
        rate[i] = i % 2 ? 0 : log1p(-LOSS);
    struct dlb_race race = {.input = {.n_cells = 2},
                            .n_blocks = 6,
                            .ln_rate = rate,
                            .scatter = (double)NAN,
                            .rival = 1};
    struct dlb_race_interval loss = dlb_race_fresh_loss(&race, 0.05);
    assert_true(fabs(loss.median - LOSS) < 1e-12);
    assert_true(fabs(loss.low - LOSS) < 1e-12 && fabs(loss.high - LOSS) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_the_loss),
        cmocka_unit_test(too_few_pairs_say_nothing),
        cmocka_unit_test(pairs_that_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
