/* Which rank the gate is held against. */
#include "scenarios/storage/worst.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N_REPS = 6, N_RANKS = 4 };

static const uint8_t in_turns[N_REPS] = {0, 1, 0, 1, 0, 1};

static void choose(double au[N_REPS][N_RANKS], const uint8_t *half, double values[N_REPS])
{
    const struct dlb_worst worst = {
        .n_reps = N_REPS, .n_ranks = N_RANKS, .au = au[0], .half = half, .gate = 0.9};
    dlb_worst_values(&worst, values);
}

/* The third is lower by a tenth wherever the storage limits, though not the lowest of each
 * repetition. */
static void test_worse_rank(void **state)
{
    (void)state;
    double au[N_REPS][N_RANKS] = {{0.80, 0.78, 0.72, 0.81}, {0.70, 0.71, 0.63, 0.60},
                                  {0.81, 0.79, 0.71, 0.80}, {0.50, 0.51, 0.45, 0.49},
                                  {0.60, 0.53, 0.54, 0.61}, {0.99, 0.97, 0.99, 0.98}};
    double values[N_REPS];
    choose(au, in_turns, values);
    for (int i = 0; i < N_REPS; i++)
        assert_true(values[i] == au[i][2]);
}

/* A repetition takes no part in its own choice: what is low by chance there does not count. */
static void test_low_by_chance(void **state)
{
    (void)state;
    double au[N_REPS][N_RANKS], values[N_REPS];
    for (int i = 0; i < N_REPS; i++)
        for (int rank = 0; rank < N_RANKS; rank++)
            au[i][rank] = 0.8 + 0.02 * ((i + 2 * rank) % 3) - (rank == 1 ? 0.05 : 0);
    au[3][0] = 0.74;
    choose(au, in_turns, values);
    for (int i = 0; i < N_REPS; i++)
        assert_true(values[i] == au[i][1]);
}

/* A moment that starved one rank counts in that repetition alone. */
static void test_slow_moment(void **state)
{
    (void)state;
    double au[N_REPS][N_RANKS], values[N_REPS];
    for (int i = 0; i < N_REPS; i++)
        for (int rank = 0; rank < N_RANKS; rank++)
            au[i][rank] = rank == 1 ? 0.79 : 0.8;
    au[3][0] = 0.2;
    choose(au, in_turns, values);
    for (int i = 0; i < N_REPS; i++)
        assert_true(values[i] == (i == 3 ? 0.2 : 0.79));
}

/* In each repetition another rank is starved, and the others are fed: the number is not. */
static void test_starved_at_random(void **state)
{
    (void)state;
    enum { MOST_RANKS = 8 };
    static const uint32_t n_ranks[] = {2, 3, 4, MOST_RANKS};
    for (size_t k = 0; k < sizeof(n_ranks) / sizeof(*n_ranks); k++) {
        double au[N_REPS * MOST_RANKS], values[N_REPS];
        for (uint32_t i = 0; i < N_REPS; i++)
            for (uint32_t rank = 0; rank < n_ranks[k]; rank++)
                au[i * n_ranks[k] + rank] = rank == i % n_ranks[k] ? 0.3 : 1;
        const struct dlb_worst worst = {
            .n_reps = N_REPS, .n_ranks = n_ranks[k], .au = au, .half = in_turns, .gate = 0.9};
        dlb_worst_values(&worst, values);
        for (uint32_t i = 0; i < N_REPS; i++)
            assert_true(values[i] == 0.3);
    }
}

/* Near the gate a starved rank is hardly below those that are fed, less than ranks may differ by
 * chance. What larger numbers show counts there, too. */
static void test_starved_near_the_gate(void **state)
{
    (void)state;
    double au[N_REPS][N_RANKS], values[N_REPS];
    for (int i = 0; i < N_REPS; i++)
        for (int rank = 0; rank < N_RANKS; rank++) {
            double fed = 0.95 - 0.03 * ((i + rank) % 3);
            au[i][rank] = rank != i % N_RANKS ? fed : i < 2 ? 0.86 : 0.5;
        }
    choose(au, in_turns, values);
    for (int i = 0; i < N_REPS; i++)
        assert_true(values[i] == (i < 2 ? 0.86 : 0.5));
}

/* Without another half that missed the gate the lowest decides. */
static void test_nothing_to_choose_by(void **state)
{
    (void)state;
    static const uint8_t all_first[N_REPS] = {0};
    double au[N_REPS][N_RANKS], values[N_REPS];
    for (int i = 0; i < N_REPS; i++)
        for (int rank = 0; rank < N_RANKS; rank++)
            au[i][rank] = rank == i % N_RANKS ? 0.5 : 0.8;
    choose(au, all_first, values);
    for (int i = 0; i < N_REPS; i++)
        assert_true(values[i] == 0.5);
    for (int i = 0; i < N_REPS; i++)
        for (int rank = 0; rank < N_RANKS; rank++)
            au[i][rank] = i == 0 && rank == 3 ? 0.85 : 0.91 + 0.01 * rank;
    choose(au, in_turns, values);
    assert_true(values[0] == 0.85);
    for (int i = 1; i < N_REPS; i++) /* the fourth is chosen for the other half alone */
        assert_true(fabs(values[i] - (i % 2 ? 0.94 : 0.91)) < 1e-9);
}

static void test_nothing_delivered(void **state)
{
    (void)state;
    double au[N_REPS][N_RANKS] = {{0}}, values[N_REPS];
    choose(au, in_turns, values);
    for (int i = 0; i < N_REPS; i++)
        assert_true(values[i] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worse_rank),
        cmocka_unit_test(test_low_by_chance),
        cmocka_unit_test(test_slow_moment),
        cmocka_unit_test(test_starved_at_random),
        cmocka_unit_test(test_starved_near_the_gate),
        cmocka_unit_test(test_nothing_to_choose_by),
        cmocka_unit_test(test_nothing_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
