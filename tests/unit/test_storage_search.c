/* The search for N against made-up storages: exact, noisy, not monotone, capped, impossible. */
#include "core/base/rng.h"
#include "scenarios/storage/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define GATE 0.9
enum { MAX_POINTS = 400, REPEATS = 3 };

/* A storage that is enough for `exact` accelerators at 100%. */
struct storage {
    double exact;
    double noise;          /* uniform, this far to each side */
    uint32_t refuses_from; /* impossible from here on; 0: never */
    uint32_t dip;          /* one number that is bad, though larger ones are not */
    uint32_t blip;         /* one number whose first repetition is bad */
    double other;          /* what another rank gets, of the chosen one's; 0: one process */
    struct dlb_rng rng;
};

struct searched {
    struct dlb_search_point points[MAX_POINTS];
    double au[MAX_POINTS][REPEATS], rank_au[MAX_POINTS][REPEATS][2];
    uint32_t n_points, n_measured;
    struct dlb_search_step end;
};

static double au_of(struct storage *s, uint32_t n, uint32_t repetition)
{
    double au = fmin(1, s->exact / n);
    if (n == s->dip || (n == s->blip && repetition == 0))
        au = 0.5;
    return au + s->noise * (2 * dlb_rng_unit(&s->rng) - 1);
}

static void measure(struct searched *found, struct storage *s, uint32_t n)
{
    uint32_t i = 0;
    while (i < found->n_points && found->points[i].n != n)
        i++;
    assert_true(i < MAX_POINTS);
    struct dlb_search_point *p = &found->points[i];
    if (i == found->n_points) {
        *p = (struct dlb_search_point){.n = n, .au = found->au[i], .rank_au = found->rank_au[i][0]};
        found->n_points++;
    }
    found->n_measured++;
    if (s->refuses_from && n >= s->refuses_from) {
        p->impossible = true;
        return;
    }
    assert_true(p->n_values < REPEATS); /* or it would go on for ever */
    found->au[i][p->n_values] = au_of(s, n, p->n_values);
    found->rank_au[i][p->n_values][0] = found->au[i][p->n_values];
    found->rank_au[i][p->n_values][1] = fmin(1, s->other * s->exact / n);
    p->n_values++;
}

static void search(struct searched *found, struct storage *s, uint32_t max_n)
{
    memset(found, 0, sizeof(*found));
    for (;;) {
        struct dlb_search how = {.gate = GATE,
                                 .max_n = max_n,
                                 .repeats = REPEATS,
                                 .points = found->points,
                                 .n_points = found->n_points,
                                 .n_ranks = s->other > 0 ? 2 : 0};
        dlb_search_next(&how, &found->end);
        if (found->end.done)
            return;
        assert_in_range(found->end.n, 1, max_n);
        measure(found, s, found->end.n);
    }
}

static void test_finds_the_exact_number(void **state)
{
    (void)state;
    static struct searched found;
    for (uint32_t n = 0; n <= 200; n++) {
        /* Enough for n and a half at the gate. */
        struct storage s = {.exact = (n + 0.5) * GATE};
        search(&found, &s, 1000);
        assert_int_equal(found.end.best, n);
        assert_int_equal(found.end.low, n);
        assert_int_equal(found.end.high, n);
        assert_false(found.end.capped);
        /* A ramp, a bisection, and two settled: log2 twice, and no more. */
        assert_in_range(found.n_measured, 1, 2 * 8 + 2 * REPEATS + 2);
    }
}

/* The interval holds what N is of another rank that is fed less, and of none that is fed more. */
static void test_another_rank(void **state)
{
    (void)state;
    static struct searched found;
    for (int k = 0; k < 2; k++) {
        struct storage s = {.exact = 64.5 * GATE, .other = k == 0 ? 0.95 : 1.05};
        search(&found, &s, 1000);
        assert_true(found.end.fitted);
        assert_int_equal(found.end.best, 64);
        assert_int_equal(found.end.low, k == 0 ? 61 : 64);
        assert_int_equal(found.end.high, 64);
    }
}

static void test_ends_at_the_most(void **state)
{
    (void)state;
    static struct searched found;
    const uint32_t most[] = {1, 2, 3, 7, 8, 100};
    for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
        struct storage s = {.exact = 1e6};
        search(&found, &s, most[i]);
        assert_true(found.end.capped);
        assert_int_equal(found.end.best, most[i]);
        assert_int_equal(found.end.low, most[i]);
        assert_int_equal(found.end.high, most[i]);
    }
    /* Kept at the most, missed just above: not looked at. */
    struct storage s = {.exact = 8.5 * GATE};
    search(&found, &s, 8);
    assert_true(found.end.capped);
    assert_int_equal(found.end.best, 8);
}

/* N is where the median crosses; the bounds hold it, and widen with the noise. */
static void test_noise_widens_the_bounds(void **state)
{
    (void)state;
    static struct searched found;
    double width[2] = {0, 0}, off[2] = {0, 0};
    const double noise[] = {0.005, 0.05};
    const uint32_t n_runs = 200;
    for (int k = 0; k < 2; k++)
        for (uint32_t run = 0; run < n_runs; run++) {
            struct storage s = {
                .exact = 20.5 * GATE, .noise = noise[k], .rng = dlb_rng_seed(7, run, (uint64_t)k)};
            search(&found, &s, 1000);
            assert_true(found.end.low <= found.end.best && found.end.best <= found.end.high);
            width[k] += (double)(found.end.high - found.end.low) / n_runs;
            off[k] += fabs((double)found.end.best - 20) / n_runs;
            assert_true(found.n_measured < 120);
        }
    assert_true(width[0] < 1.0);
    assert_true(off[0] < 0.5);
    assert_true(width[1] > width[0]);
    assert_true(off[1] < 4.0);
}

/* Most of the time the true number lies within the bounds, whatever the noise. */
static void test_bounds_hold_the_truth(void **state)
{
    (void)state;
    static struct searched found;
    uint32_t n_held = 0;
    const uint32_t n_runs = 300;
    for (uint32_t run = 0; run < n_runs; run++) {
        struct storage s = {.exact = 12.5 * GATE, .noise = 0.03, .rng = dlb_rng_seed(11, run, 0)};
        search(&found, &s, 1000);
        n_held += found.end.low <= 12 && 12 <= found.end.high;
    }
    assert_true(n_held > n_runs * 8 / 10);
}

static void test_one_slow_moment_moves_nothing(void **state)
{
    (void)state;
    static struct searched found;
    for (uint32_t blip = 1; blip <= 12; blip++) {
        struct storage s = {.exact = 10.5 * GATE, .blip = blip};
        search(&found, &s, 1000);
        assert_int_equal(found.end.best, 10);
        assert_true(found.end.high == 10);
        assert_int_equal(found.end.low, 10);
        if (blip == 10 || blip == 11)
            assert_int_equal(found.end.knee.n_left_out, 1);
    }
}

/* Not monotone: what counts is the first number that misses it, and none above is promised. */
static void test_a_lasting_dip_ends_it_below(void **state)
{
    (void)state;
    static struct searched found;
    struct storage s = {.exact = 30.5 * GATE, .dip = 4};
    search(&found, &s, 1000);
    assert_int_equal(found.end.best, 3);
    assert_true(found.end.high >= 3);
    /* No curve of the family fits that, and repetitions decide. */
    assert_true(found.end.knee.fitted && found.end.knee.lack_of_fit_p < DLB_KNEE_LACK_P);
    assert_false(found.end.fitted);
}

/* 5 was found to miss it after 7 and 9 had been looked at. */
static void test_what_was_kept_above_is_told(void **state)
{
    (void)state;
    double all[] = {1, 1, 1}, none[] = {0.2, 0.2, 0.2}, most[] = {1, 0.2, 1}, one[] = {0.2, 0.2, 1};
    struct dlb_search_point points[] = {{.n = 4, .n_values = 3, .au = all},
                                        {.n = 5, .n_values = 3, .au = none},
                                        {.n = 7, .n_values = 3, .au = most},
                                        {.n = 9, .n_values = 3, .au = one}};
    struct dlb_search how = {
        .gate = GATE, .max_n = 20, .repeats = REPEATS, .points = points, .n_points = 4};
    struct dlb_search_step step;
    uint32_t missed = 0;
    dlb_search_next(&how, &step);
    assert_true(step.done && !step.capped);
    assert_int_equal(step.best, 4);
    assert_int_equal(step.low, 4);
    assert_int_equal(step.high, 9); /* one repetition is one */
    assert_int_equal(dlb_search_kept_above(&how, &missed), 7);
    assert_int_equal(missed, 5);
    how.n_points = 2;
    assert_int_equal(dlb_search_kept_above(&how, &missed), 0);
}

static void test_impossible_is_missed(void **state)
{
    (void)state;
    static struct searched found;
    struct storage s = {.exact = 1e6, .refuses_from = 6};
    search(&found, &s, 1000);
    assert_int_equal(found.end.best, 5);
    assert_int_equal(found.end.high, 5);
    assert_true(found.end.capped); /* there may be more elsewhere */
    s.refuses_from = 1;
    search(&found, &s, 1000);
    assert_int_equal(found.end.best, 0);
    assert_int_equal(found.end.low, 0);
    assert_int_equal(found.end.high, 0);
}

/* Values beyond the repetitions (a baseline's turns) change nothing. */
static void test_later_values_do_not_count(void **state)
{
    (void)state;
    double kept[] = {1, 1, 0.1, 0.1, 0.1}, missed[] = {0.2, 0.2, 1, 1, 1};
    struct dlb_search_point points[] = {{.n = 1, .n_values = 5, .au = kept},
                                        {.n = 2, .n_values = 5, .au = missed}};
    struct dlb_search how = {
        .gate = GATE, .max_n = 10, .repeats = 2, .points = points, .n_points = 2};
    struct dlb_search_step step;
    dlb_search_next(&how, &step);
    assert_true(step.done);
    assert_int_equal(step.best, 1);
    assert_true(dlb_search_median(&how, &points[1]) < 0.3);
}

/* When no time is left it ends at once, with what is not excluded so far. */
static void test_spent_ends_it_now(void **state)
{
    (void)state;
    double one = 1, bad = 0.4;
    struct dlb_search_point points[] = {{.n = 1, .n_values = 1, .au = &one},
                                        {.n = 2, .n_values = 1, .au = &one},
                                        {.n = 4, .n_values = 1, .au = &bad}};
    struct dlb_search how = {
        .gate = GATE, .max_n = 10, .repeats = REPEATS, .points = points, .spent = true};
    struct dlb_search_step step;
    const struct {
        uint32_t n_points, best, high;
    } wanted[] = {{0, 0, UINT32_MAX}, {1, 1, UINT32_MAX}, {2, 2, UINT32_MAX}, {3, 2, 3}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        how.n_points = wanted[i].n_points;
        dlb_search_next(&how, &step);
        assert_true(step.done && step.cut && !step.capped);
        assert_int_equal(step.best, wanted[i].best);
        assert_int_equal(step.low, wanted[i].best);
        assert_int_equal(step.high, wanted[i].high);
    }
    /* What has ended by itself is no matter of time. */
    static struct searched found;
    struct storage s = {.exact = 10.5 * GATE};
    search(&found, &s, 1000);
    how.points = found.points;
    how.n_points = found.n_points;
    how.max_n = 1000;
    dlb_search_next(&how, &step);
    assert_true(step.done && !step.cut);
    assert_int_equal(step.best, 10);
}

/* The two at the border are repeated in turns. */
static void test_border_in_turns(void **state)
{
    (void)state;
    double kept[REPEATS] = {1, 1, 1}, missed[REPEATS] = {0.2, 0.2, 0.2};
    struct dlb_search_point points[] = {{.n = 1, .n_values = 1, .au = kept},
                                        {.n = 2, .n_values = 1, .au = missed}};
    struct dlb_search how = {
        .gate = GATE, .max_n = 10, .repeats = REPEATS, .points = points, .n_points = 2};
    struct dlb_search_step step;
    const uint32_t expected[] = {1, 2, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        dlb_search_next(&how, &step);
        assert_false(step.done);
        assert_int_equal(step.n, expected[i]);
        points[step.n - 1].n_values++;
    }
    dlb_search_next(&how, &step);
    assert_true(step.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_exact_number),
        cmocka_unit_test(test_another_rank),
        cmocka_unit_test(test_ends_at_the_most),
        cmocka_unit_test(test_noise_widens_the_bounds),
        cmocka_unit_test(test_bounds_hold_the_truth),
        cmocka_unit_test(test_one_slow_moment_moves_nothing),
        cmocka_unit_test(test_a_lasting_dip_ends_it_below),
        cmocka_unit_test(test_what_was_kept_above_is_told),
        cmocka_unit_test(test_impossible_is_missed),
        cmocka_unit_test(test_later_values_do_not_count),
        cmocka_unit_test(test_spent_ends_it_now),
        cmocka_unit_test(test_border_in_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
