/* The noise floor: what two cells must differ by to be told apart. */
#include "core/measure/noise.h"

#include "core/base/rng.h"
#include "core/measure/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 18, MAX_REPS = 8, EXPERIMENTS = 600 };

struct grid {
    double sd, drift; /* drift: sd of what all cells of a block have in common */
    uint32_t n_reps;
    double tail; /* share of runs that are slowed by half */
};

static uint32_t fill(const struct grid *g, struct dlb_rng *rng, struct dlb_noise_rep *reps)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < g->n_reps; b++) {
        double block = g->drift * dlb_rng_normal(rng);
        for (uint32_t c = 0; c < CELLS; c++) {
            double y = block + g->sd * dlb_rng_normal(rng) + 0.1 * c;
            if (dlb_rng_unit(rng) < g->tail)
                y += log(0.5);
            reps[n++] = (struct dlb_noise_rep){c, b, exp(y)};
        }
    }
    return n;
}

/* Whether the loss of one cell to another, paired by block, exceeds it. The two are equal, but for
 * 0.1 in ln rate. */
static bool exceeds(const struct dlb_noise_rep *reps, uint32_t n_reps, double floor_frac)
{
    double a[MAX_REPS], b[MAX_REPS];
    for (uint32_t r = 0; r < n_reps; r++) {
        a[r] = reps[r * CELLS].rate * exp(0.1);
        b[r] = reps[r * CELLS + 1].rate;
    }
    double loss = dlb_estimate_paired_loss(a, b, n_reps).median;
    return fabs(log(1 - loss)) > -log(1 - floor_frac);
}

static void test_equal_cells_stay_below_it(void **state)
{
    (void)state;
    static const struct grid grids[] = {{0.01, 0, 3, 0},    {0.03, 0, 3, 0},  {0.10, 0, 3, 0},
                                        {0.03, 0.1, 3, 0},  {0.03, 0, 6, 0},  {0.03, 0.05, 2, 0},
                                        {0.03, 0, 6, 0.05}, {0.01, 0.2, 8, 0}};
    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        struct dlb_noise_rep reps[CELLS * MAX_REPS];
        struct dlb_rng rng = dlb_rng_seed(3, i, 0);
        double above = 0, floors = 0, sds = 0;
        for (int e = 0; e < EXPERIMENTS; e++) {
            struct dlb_noise noise;
            uint32_t n = fill(&grids[i], &rng, reps);
            dlb_noise_of(reps, n, grids[i].n_reps, &noise);
            floors += noise.floor_frac / EXPERIMENTS;
            sds += noise.sd_frac / EXPERIMENTS;
            above += exceeds(reps, grids[i].n_reps, noise.floor_frac) / (double)EXPERIMENTS;
        }
        printf("sd %4.1f%% drift %4.1f%% reps %u tail %3.0f%%: sd %5.2f%%, floor %5.2f%%, equal "
               "cells above it %4.1f%%\n",
               100 * grids[i].sd, 100 * grids[i].drift, grids[i].n_reps, 100 * grids[i].tail,
               100 * sds, 100 * floors, 100 * above);
        if (grids[i].tail > 0) {
            assert_true(above < 0.09);
            continue;
        }
        assert_true(fabs(sds / grids[i].sd - 1) < 0.1); /* the blocks' part is not noise */
        assert_true(above > 0.005 && above < 0.07);
    }
}

static void test_too_few(void **state)
{
    (void)state;
    const struct dlb_noise_rep reps[] = {{0, 0, 100}, {1, 0, 200}, {2, 0, 300}};
    struct dlb_noise noise;
    dlb_noise_of(reps, 0, 1, &noise);
    assert_true(isnan(noise.sd_frac) && isnan(noise.floor_frac));
    dlb_noise_of(reps, 3, 1, &noise);
    assert_true(isnan(noise.floor_frac));
    assert_int_equal(noise.n_freedom, 0);
}

/* One cell: t of 2 degrees of freedom, 4.303; three values with sd 1% about. */
static void test_one_cell(void **state)
{
    (void)state;
    const struct dlb_noise_rep reps[] = {{0, 0, 99}, {0, 1, 100}, {0, 2, 101}};
    struct dlb_noise noise;
    dlb_noise_of(reps, 3, 3, &noise);
    assert_int_equal(noise.n_freedom, 2);
    assert_true(fabs(noise.sd_frac - 0.01) < 0.0002);
    assert_true(fabs(noise.floor_frac + expm1(-4.303 * 0.01 * 1.2533 * sqrt(2.0 / 3))) < 0.001);
}

/* As a search leaves them, which repeats only its last cells: what ran once tells nothing, and does
 * not make the others' noise smaller. */
static void test_cells_that_ran_once(void **state)
{
    (void)state;
    const struct dlb_noise_rep reps[] = {{0, 0, 10}, {1, 0, 20}, {2, 0, 40},  {3, 0, 80},
                                         {4, 0, 99}, {4, 1, 99}, {4, 2, 101}, {5, 3, 7}};
    struct dlb_noise all, last;
    dlb_noise_of(reps, 8, 3, &all);
    dlb_noise_of(reps + 4, 3, 3, &last);
    assert_int_equal(all.n_freedom, 2);
    assert_true(last.floor_frac > 0.04);
    assert_true(all.sd_frac == last.sd_frac && all.floor_frac == last.floor_frac);
}

static void test_equal_repetitions_have_none(void **state)
{
    (void)state;
    const struct dlb_noise_rep reps[] = {{0, 0, 100}, {0, 1, 100}, {1, 0, 50}, {1, 1, 50}};
    struct dlb_noise noise;
    dlb_noise_of(reps, 4, 2, &noise);
    assert_true(noise.floor_frac == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_cells_stay_below_it),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_one_cell),
        cmocka_unit_test(test_cells_that_ran_once),
        cmocka_unit_test(test_equal_repetitions_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
