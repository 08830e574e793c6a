/* Intervals of what faster loading would gain, and the verdicts by them: simulated sweeps. */
#include "core/measure/gain.h"

#include "core/base/rng.h"
#include "core/measure/stats.h"
#include "core/measure/tail.h"
#include "core/measure/verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CELLS = 8, BLOCKS = 20, SWEEPS = 5000, STATED = 500 };

static void assert_close(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g is not %.12g", value, wanted);
}

/* One cell: the interval of t. */
static void test_one_cell(void **state)
{
    (void)state;
    struct dlb_gain gain;
    dlb_gains((const double[]){0.1, NAN, 0.3, 0.2}, 4, 1, DLB_GAIN_CLEAR, &gain);
    double half = dlb_t_95(2) * 0.1 / sqrt(3);
    assert_int_equal(gain.n, 3);
    assert_close(gain.median, exp(0.2));
    assert_close(gain.low, exp(0.2 - half));
    assert_close(gain.high, exp(0.2 + half));
}

/* A single repetition has no interval, and cells without any take no part. */
static void test_too_few(void **state)
{
    (void)state;
    struct dlb_gain gains[3];
    dlb_gains((const double[]){NAN, 0.5, 0.1, NAN, INFINITY, 0.3}, 2, 3, DLB_GAIN_CLEAR, gains);
    assert_int_equal(gains[0].n, 0);
    assert_true(isnan(gains[0].median) && isnan(gains[0].low) && isnan(gains[0].high));
    assert_int_equal(gains[1].n, 1);
    assert_close(gains[1].median, exp(0.5));
    assert_true(isnan(gains[1].low) && isnan(gains[1].high));
    double half = dlb_t_95(1) * sqrt(0.02) / sqrt(2);
    assert_close(gains[2].low, exp(0.2 - half));
    dlb_gains(NULL, 0, 2, DLB_GAIN_CLEAR, gains);
    assert_true(gains[1].n == 0 && isnan(gains[1].median));
}

/* Noise that two cells have in common is measured once: they are as one. */
static void test_common_noise(void **state)
{
    (void)state;
    struct dlb_gain gains[2];
    dlb_gains((const double[]){0.1, 1.1, 0.2, 1.2, 0.3, 1.3}, 3, 2, DLB_GAIN_CLEAR, gains);
    double half = dlb_t_95(2) * 0.1 / sqrt(3);
    assert_close(gains[0].low, exp(0.2 - half));
    assert_close(gains[1].high, exp(1.2 + half));
}

/* Own variances differ: each counts two repetitions, the pooled one of four an eighth of that. */
static void test_shrinks_to_the_pool(void **state)
{
    (void)state;
    struct dlb_gain gains[2];
    double a = 0.01, b = 0.03;
    dlb_gains((const double[]){-a, b, 0, -2 * b, a, b}, 3, 2, DLB_GAIN_CLEAR, gains);
    double squares[2] = {2 * a * a, 6 * b * b}, pooled = (squares[0] + squares[1]) / 4;
    double t = dlb_t_95(2.5);
    for (int c = 0; c < 2; c++)
        assert_close(gains[c].high, exp(t * sqrt((0.5 * pooled + squares[c]) / 2.5 / 3)));
}

/* Cells that would contradict each other: wider intervals, unless their gains differ clearly. */
static void test_contradictions_are_widened(void **state)
{
    (void)state;
    struct dlb_gain gains[2];
    double near[] = {0.14, 0.03, 0.16, 0.05, 0.18, 0.07},
           far[] = {0.54, 0.03, 0.56, 0.05, 0.58, 0.07};
    double se = 0.02 / sqrt(3), t = dlb_t_beyond(DLB_GAIN_MISSES / 1, 2);
    dlb_gains(near, 3, 2, DLB_GAIN_CLEAR, gains);
    assert_close(gains[0].low, exp(0.16 - t * se));
    assert_close(gains[1].high, exp(0.05 + t * se));
    dlb_gains(near, 3, 2, 2, gains); /* both below */
    assert_close(gains[0].low, exp(0.16 - dlb_t_95(2) * se));
    dlb_gains(far, 3, 2, 1.2, gains);
    assert_close(gains[0].low, exp(0.56 - dlb_t_95(2) * se));
    assert_close(gains[1].high, exp(0.05 + dlb_t_95(2) * se));
}

struct sweep {
    const char *name;
    double gain; /* of every cell */
    uint32_t n_cells, n_blocks;
    double sd, ceiling_sd; /* of ln rate */
    bool threefold;        /* every second cell has three times the noise */
    bool raced;            /* every second cell has 3 blocks alone */
    double hit;            /* share of runs that take a fifth longer */
    double least;          /* of cells must be classed right */
};

struct drawn {
    double ln_gain[BLOCKS * CELLS];
    struct dlb_evidence evidence[CELLS];
};

static uint32_t blocks_of(const struct sweep *s, uint32_t c)
{
    return s->raced && c % 2 ? 3 : s->n_blocks;
}

static void draw(const struct sweep *s, struct dlb_rng *rng, struct drawn *out)
{
    double waits[CELLS][BLOCKS];
    for (uint32_t b = 0; b < s->n_blocks; b++) {
        double ceiling = s->ceiling_sd * dlb_rng_normal(rng);
        for (uint32_t c = 0; c < s->n_cells; c++) {
            double slower = (s->threefold && c % 2 ? 3 : 1) * s->sd * dlb_rng_normal(rng);
            if (dlb_rng_unit(rng) < s->hit)
                slower += log(1.2);
            out->ln_gain[b * s->n_cells + c] =
                b < blocks_of(s, c) ? log(s->gain) + ceiling + slower : (double)NAN;
            waits[c][b] = fmax(0, 1 - 1 / (s->gain * exp(slower)));
        }
    }
    for (uint32_t c = 0; c < s->n_cells; c++) {
        double wait = dlb_median(waits[c], blocks_of(s, c));
        out->evidence[c] = (struct dlb_evidence){.complete = true,
                                                 .compute_frac = 1 - wait,
                                                 .input_frac = wait,
                                                 .step_ns = 1e7,
                                                 .num_workers = 2,
                                                 .n_cpus = 8};
    }
}

/* Counts over the sweeps of a row. */
struct tally {
    double covered[2], all_covered, input, borderline, lost; /* covered: of the even and the odd
                                      cells; lost: BORDERLINE because of noise */
    uint32_t n_contradictions, n_early; /* n_early: in the first STATED sweeps */
};

static void judge(const struct sweep *s, const struct drawn *drawn, struct tally *t)
{
    struct dlb_gain gains[CELLS];
    uint32_t n_input = 0, n_borderline = 0, n_lost = 0, n_covered[2] = {0};
    dlb_gains(drawn->ln_gain, s->n_blocks, s->n_cells, DLB_GAIN_CLEAR, gains);
    for (uint32_t c = 0; c < s->n_cells; c++) {
        struct dlb_evidence e = drawn->evidence[c];
        struct dlb_verdict v;
        e.gain = gains[c];
        dlb_judge(&e, &v);
        n_input += v.klass == DLB_V_INPUT_BOUND;
        n_borderline += v.klass == DLB_V_BORDERLINE;
        n_lost += v.klass == DLB_V_BORDERLINE && dlb_gain_is_lost(&e.gain);
        n_covered[c % 2] += gains[c].low <= s->gain && s->gain <= gains[c].high;
    }
    t->n_contradictions += n_input > 0 && n_input + n_borderline < s->n_cells;
    t->input += n_input / (double)s->n_cells / SWEEPS;
    t->borderline += n_borderline / (double)s->n_cells / SWEEPS;
    t->lost += n_lost / (double)s->n_cells / SWEEPS;
    uint32_t n_odd = s->n_cells / 2, n_even = s->n_cells - n_odd;
    t->covered[0] += n_covered[0] / (double)n_even / SWEEPS;
    t->covered[1] += n_odd ? n_covered[1] / (double)n_odd / SWEEPS : 0;
    t->all_covered += (n_covered[0] + n_covered[1] == s->n_cells) / (double)SWEEPS;
}

static double worse_half(const struct sweep *s, const struct tally *t)
{
    return s->n_cells == 1 ? t->covered[0] : fmin(t->covered[0], t->covered[1]);
}

static struct tally count(const struct sweep *s, uint64_t seed)
{
    static struct drawn drawn;
    struct tally t = {0};
    struct dlb_rng rng = dlb_rng_seed(seed, 0, 0);
    for (uint32_t i = 0; i < SWEEPS; i++) {
        draw(s, &rng, &drawn);
        judge(s, &drawn, &t);
        if (i + 1 == STATED)
            t.n_early = t.n_contradictions;
    }
    return t;
}

static struct tally simulate(const struct sweep *s, uint64_t seed)
{
    struct tally t = count(s, seed);
    printf("| %s | %.0f%% | %.1f%% | %.1f%% | %.1f%% | %.1f%% | %.1f%% | %.1f |\n", s->name,
           100 * s->sd, 100 * t.input, 100 * t.borderline, 100 * (1 - t.input - t.borderline),
           100 * worse_half(s, &t), 100 * t.all_covered,
           t.n_contradictions * (double)STATED / SWEEPS);
    return t;
}

#define NEAR (1 / 0.91) /* a wait of 9%, just below the threshold */

static const struct sweep nears[] = {
    {"8 cells", NEAR, 8, 3, 0.01, 0, false, false, 0, 0},
    {"8 cells", NEAR, 8, 3, 0.03, 0, false, false, 0, 0},
    {"8 cells", NEAR, 8, 3, 0.10, 0, false, false, 0, 0},
    {"8 cells, ceiling as noisy", NEAR, 8, 3, 0.01, 0.01, false, false, 0, 0},
    {"8 cells, ceiling as noisy", NEAR, 8, 3, 0.03, 0.03, false, false, 0, 0},
    {"8 cells, ceiling as noisy", NEAR, 8, 3, 0.10, 0.10, false, false, 0, 0},
    {"8 cells, ceiling three times as noisy", NEAR, 8, 3, 0.01, 0.03, false, false, 0, 0},
    {"8 cells, half three times as noisy", NEAR, 8, 3, 0.01, 0, true, false, 0, 0},
    {"8 cells, half three times as noisy", NEAR, 8, 3, 0.03, 0, true, false, 0, 0},
    {"8 cells, the same, and the ceiling noisy", NEAR, 8, 3, 0.03, 0.03, true, false, 0, 0},
    {"8 cells, half with 20 repetitions", NEAR, 8, 20, 0.03, 0.01, false, true, 0, 0},
    {"8 cells, the same, others three times as noisy", NEAR, 8, 20, 0.03, 0.01, true, true, 0, 0},
    {"8 cells, 5% of the runs hit by 20%", NEAR, 8, 3, 0.03, 0, false, false, 0.05, 0},
    {"2 cells", NEAR, 2, 3, 0.01, 0, false, false, 0, 0},
    {"2 cells", NEAR, 2, 3, 0.10, 0, false, false, 0, 0},
    {"2 cells, one three times as noisy", NEAR, 2, 3, 0.03, 0, true, false, 0, 0},
    {"2 cells, 2 repetitions", NEAR, 2, 2, 0.03, 0, false, false, 0, 0},
    {"8 cells at the threshold", DLB_GAIN_CLEAR, 8, 3, 0.03, 0, false, false, 0, 0},
    {"2 cells at the threshold", DLB_GAIN_CLEAR, 2, 3, 0.03, 0, false, false, 0, 0},
    {"1 cell", NEAR, 1, 3, 0.03, 0.03, false, false, 0, 0},
};

static const struct sweep clears[] = {
    {"8 cells, gain 1.5", 1.5, 8, 3, 0.03, 0, false, false, 0, 0.99},
    {"8 cells, gain 1.5, ceiling as noisy", 1.5, 8, 3, 0.03, 0.03, false, false, 0, 0.90},
    {"8 cells, gain 1.5, half three times as noisy", 1.5, 8, 3, 0.03, 0, true, false, 0, 0.90},
    {"2 cells, gain 1.5", 1.5, 2, 3, 0.03, 0, false, false, 0, 0.99},
    {"1 cell, gain 1.5", 1.5, 1, 3, 0.03, 0, false, false, 0, 0.99},
    {"1 cell, gain 1.5, ceiling as noisy", 1.5, 1, 3, 0.03, 0.03, false, false, 0, 0.99},
    {"8 cells, gain 1", 1, 8, 3, 0.01, 0, false, false, 0, 0.99},
    {"8 cells, gain 1", 1, 8, 3, 0.03, 0, false, false, 0, 0.75},
    {"1 cell, gain 1", 1, 1, 3, 0.01, 0, false, false, 0, 0.99},
};

static void print_head(void)
{
    printf(
        "| cells | noise | INPUT-BOUND | BORDERLINE | below | covered | all | contradictions |\n");
}

/* Cells whose truth is the same, near the threshold. Contradictions: expected in STATED sweeps. */
static void test_near_cells_do_not_contradict_each_other(void **state)
{
    (void)state;
    print_head();
    for (size_t i = 0; i < sizeof(nears) / sizeof(nears[0]); i++) {
        const struct sweep *s = &nears[i];
        struct tally t = simulate(s, i);
        bool alike = s->n_cells == CELLS && !s->threefold;
        double expected = t.n_contradictions * (double)STATED / SWEEPS;
        if ((alike && t.n_early > 0) || expected > (alike ? 0.1 : 1) || worse_half(s, &t) < 0.92)
            fail_msg("%s: %u, %g, %g", s->name, t.n_early, expected, worse_half(s, &t));
    }
}

static void test_clear_cells_are_clear(void **state)
{
    (void)state;
    print_head();
    for (size_t i = 0; i < sizeof(clears) / sizeof(clears[0]); i++) {
        const struct sweep *s = &clears[i];
        struct tally t = simulate(s, 100 + i);
        double right = s->gain > DLB_GAIN_CLEAR ? t.input : 1 - t.input - t.borderline;
        if (right < s->least || worse_half(s, &t) < 0.92 || t.n_contradictions > 0)
            fail_msg("%s: %g, %g", s->name, right, worse_half(s, &t));
    }
}

/* Cells that wait for 9% and for 64%, as many repetitions, and more and more noise. */
static void test_noise_is_told_from_nearness(void **state)
{
    (void)state;
    static const double noises[] = {0.01, 0.03, 0.1, 0.2, 0.4}, truths[] = {NEAR, 1 / 0.36};
    printf("| gain | noise | INPUT-BOUND | BORDERLINE: near | noise | below |\n");
    for (int i = 0; i < 10; i++) {
        const struct sweep s = {"",    truths[i / 5], CELLS, 3, noises[i % 5], noises[i % 5],
                                false, false,         0,     0};
        struct tally t = count(&s, 200 + (uint64_t)i);
        double near = t.borderline - t.lost;
        printf("| %.2f | %.0f%% | %.1f%% | %.1f%% | %.1f%% | %.1f%% |\n", s.gain, 100 * s.sd,
               100 * t.input, 100 * near, 100 * t.lost, 100 * (1 - t.input - t.borderline));
        bool is_near = i < 5;
        if ((is_near && s.sd < 0.02 && t.lost > 0) || (!is_near && near > 0.05) ||
            (s.sd > 0.15 && near > 0.1))
            fail_msg("gain %g, noise %g: near %g, noise %g", s.gain, s.sd, near, t.lost);
    }
}

/* A single repetition: how often it is wrong of a gain below or above the threshold, and how often
 * it does not decide. */
static void test_one_repetition(void **state)
{
    (void)state;
    static const struct {
        double gain;
        bool near; /* how often it decides, and not how often it is wrong, is in question otherwise
                    */
    } truths[] = {{1, false}, {1.05, true}, {NEAR, true}, {1.13, true}, {1.2, true}, {1.5, false}};
    static const double noises[] = {0.01, 0.026, 0.05, 0.1};
    printf("| gain | noise | INPUT-BOUND | BORDERLINE | below |\n");
    for (size_t i = 0; i < 24; i++) {
        const struct sweep s = {"", truths[i / 4].gain, CELLS, 1, noises[i % 4], 0, false, false, 0,
                                0};
        struct tally t = count(&s, 300 + i);
        double below = 1 - t.input - t.borderline;
        printf("| %.2f | %.1f%% | %.1f%% | %.1f%% | %.1f%% |\n", s.gain, 100 * s.sd, 100 * t.input,
               100 * t.borderline, 100 * below);
        double wrong = s.gain > DLB_GAIN_CLEAR ? below : t.input;
        bool usual = s.sd < 0.03;
        if ((usual && wrong > 0.025) || wrong > 0.3 ||
            (usual && !truths[i / 4].near && t.borderline > 0.05))
            fail_msg("gain %g, noise %g: %g wrong, %g not decided", s.gain, s.sd, wrong,
                     t.borderline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_cell),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_common_noise),
        cmocka_unit_test(test_shrinks_to_the_pool),
        cmocka_unit_test(test_contradictions_are_widened),
        cmocka_unit_test(test_near_cells_do_not_contradict_each_other),
        cmocka_unit_test(test_clear_cells_are_clear),
        cmocka_unit_test(test_noise_is_told_from_nearness),
        cmocka_unit_test(test_one_repetition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
