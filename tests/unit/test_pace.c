/* Windows of simulated loaders whose true rate is known: W workers that begin together, batches in
 * order, prefetch_factor credits each, as loaders/pool/pool.h describes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/rng.h"
#include "core/measure/window_bias.h"
#include "loaders/train/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_WORKERS 16
#define MS 1e6

struct simulated {
    uint32_t n_workers, prefetch_factor;
    double batch_ns, cv; /* of a worker's time for a batch */
    double step_ns, border_ns;
    uint64_t n_epoch_batches;
    uint32_t n_epochs;
    uint64_t n_warmup, n_measured;
    struct dlb_rng rng;
};

static double normal(struct dlb_rng *rng)
{
    double u = (double)(dlb_rng_below(rng, 1u << 30) + 1) / (1 << 30);
    double v = (double)dlb_rng_below(rng, 1u << 30) / (1 << 30);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Feeds the window with the steps of one run. */
static void simulate(struct simulated *sim, struct dlb_window *window, struct dlb_consumed *out)
{
    uint32_t n_workers = sim->n_workers;
    uint64_t ahead = (uint64_t)n_workers * sim->prefetch_factor;
    struct dlb_span span = {
        .n_warmup = sim->n_warmup, .n_measured = sim->n_measured, .round = n_workers};
    double *taken = calloc(sim->n_epoch_batches, sizeof *taken), now = 1e9, step_end = now;

    assert_non_null(taken);
    dlb_window_open(window,
                    &(struct dlb_window_opts){.round = n_workers,
                                              .n_workers = n_workers,
                                              .n_epoch_batches = (double)sim->n_epoch_batches,
                                              .step_ns = sim->step_ns});
    for (uint32_t e = 0; e < sim->n_epochs && !span.closed; e++) {
        double free_at[MAX_WORKERS];
        for (uint32_t w = 0; w < n_workers; w++)
            free_at[w] = now + sim->border_ns;
        for (uint64_t i = 0; i < sim->n_epoch_batches && !span.closed; i++) {
            uint32_t w = (uint32_t)(i % n_workers);
            double credit = i >= ahead ? taken[i - ahead] : 0;
            double takes = sim->batch_ns * fmax(0.05, 1 + sim->cv * normal(&sim->rng));
            double ready = fmax(free_at[w], credit) + takes;
            free_at[w] = ready;
            taken[i] = fmax(step_end, ready);
            struct dlb_step step = {.mark = dlb_span_next(&span, i),
                                    .worker = w,
                                    .nth = i,
                                    .times = {.step_start_ns = (uint64_t)taken[i],
                                              .step_end_ns = (uint64_t)(taken[i] + sim->step_ns)},
                                    .ready_ns = (uint64_t)ready,
                                    .wait_start_ns = (uint64_t)step_end,
                                    .wait_end_ns = (uint64_t)taken[i],
                                    .late = ready > step_end,
                                    .n_samples = 8,
                                    .epoch = e,
                                    .first_of_epoch = i == 0};
            dlb_window_add(window, &step, out);
            step_end = taken[i] + sim->step_ns;
        }
        now = step_end;
    }
    dlb_window_close(window, out);
    free(taken);
}

static uint64_t whole_rounds(uint64_t n, uint32_t round)
{
    return (n + round - 1) / round * round;
}

static double steps_per_s(const struct dlb_window *window)
{
    return (double)window->share.n_steps * 1e9 / (double)window->share.window_ns;
}

static struct dlb_consumed *consumed(void)
{
    struct dlb_consumed *out = calloc(1, sizeof *out);
    assert_non_null(out);
    return out;
}

/* W workers that take 80 ms for a batch make W batches in 80 ms, wherever the window begins. */
static void bursts_do_not_bias_the_window(void **state)
{
    (void)state;
    static const uint32_t workers[] = {1, 2, 3, 5, 6, 7, 8, 12, 16};
    static const uint64_t measured[] = {20, 46, 92};
    struct dlb_consumed *out = consumed();

    for (size_t k = 0; k < sizeof workers / sizeof *workers; k++)
        for (size_t m = 0; m < 3; m++) {
            uint32_t n = workers[k];
            struct simulated sim = {.n_workers = n,
                                    .prefetch_factor = 2,
                                    .batch_ns = 80 * MS,
                                    .step_ns = MS,
                                    .n_epoch_batches = 1000,
                                    .n_epochs = 1,
                                    .n_warmup = whole_rounds(2, n),
                                    .n_measured = whole_rounds(measured[m], n)};
            struct dlb_window window;
            simulate(&sim, &window, out);
            double truth = n / 0.08;
            if (n == 1)
                truth = 1 / 0.08;
            assert_true(fabs(steps_per_s(&window) / truth - 1) < 0.001);
            assert_true(window.pace.whole_rounds);
            bool tells = sim.n_measured / n >= 4;
            assert_true(dlb_pace_tells_trend(&window.pace) == tells);
            assert_true(dlb_pace_is_stationary(&window.pace) == tells);
            dlb_window_free(&window);
        }
    free(out);
}

/* Where batch times vary, a window is biased by less than 1%, or the figure says by how much. */
static void random_batches_are_foreseen(void **state)
{
    (void)state;
    enum { WINDOWS = 1500, LONG_ROUNDS = 4000 };
    static const uint32_t workers[] = {3, 7, 8, 16};
    static const uint64_t measured[] = {20, 46, 92};
    static const double cvs[] = {0.05, 0.1, 0.2};
    struct dlb_consumed *out = consumed();

    for (size_t k = 0; k < 4; k++)
        for (size_t v = 0; v < 3; v++) {
            uint32_t n = workers[k];
            struct simulated sim = {.n_workers = n,
                                    .prefetch_factor = 2,
                                    .batch_ns = 80 * MS,
                                    .cv = cvs[v],
                                    .step_ns = MS,
                                    .n_epoch_batches = (uint64_t)n * (LONG_ROUNDS + 100),
                                    .n_epochs = 1,
                                    .n_warmup = 50 * n,
                                    .n_measured = (uint64_t)n * LONG_ROUNDS,
                                    .rng = dlb_rng_seed(k, v, 1)};
            struct dlb_window window;
            simulate(&sim, &window, out);
            double truth_ns = (double)window.share.window_ns / (double)window.share.n_steps;
            dlb_window_free(&window);
            for (size_t m = 0; m < 3; m++) {
                double cv = 0, ns = 0;
                sim.n_warmup = whole_rounds(2, n);
                sim.n_measured = whole_rounds(measured[m], n);
                sim.n_epoch_batches = 200;
                for (int i = 0; i < WINDOWS; i++) {
                    simulate(&sim, &window, out);
                    ns += (double)window.share.window_ns / (double)window.share.n_steps / WINDOWS;
                    cv += window.pace.batch_cv / WINDOWS;
                    dlb_window_free(&window);
                }
                struct dlb_bias_model model = {.n_workers = n,
                                               .prefetch_factor = 2,
                                               .batch_cv = cv,
                                               .step_per_batch = 1.0 / 80,
                                               .n_warmup = sim.n_warmup,
                                               .n_measured = sim.n_measured};
                double bias = truth_ns / ns - 1, said = dlb_window_bias(&model);
                printf(
                    "%2u workers, cv %.2f (seen %.3f), %2u batches: bias %+.2f%%, said %+.2f%%\n",
                    n, cvs[v], cv, (unsigned)sim.n_measured, 100 * bias, 100 * said);
                assert_true(fabs(bias - said) < 0.008);
            }
        }
    free(out);
}

/* Epochs of any length have the same pace within, and those of other lengths are foreseen. */
static void epochs_are_foreseen(void **state)
{
    (void)state;
    static const uint32_t workers[] = {3, 7, 8};
    struct dlb_consumed *out = consumed();

    for (size_t k = 0; k < 3; k++)
        for (int slow_step = 0; slow_step < 2; slow_step++) {
            uint32_t n = workers[k];
            uint64_t lengths[] = {4 * n, 4 * n + 1, 5 * n - 1, 100 * n};
            struct dlb_pace pace[4];
            for (int i = 0; i < 4; i++) {
                struct simulated sim = {.n_workers = n,
                                        .prefetch_factor = 2,
                                        .batch_ns = 80 * MS,
                                        .step_ns = slow_step ? 30 * MS : MS,
                                        .border_ns = 25 * MS,
                                        .n_epoch_batches = lengths[i],
                                        .n_epochs = 4,
                                        .n_warmup = n};
                struct dlb_window window;
                simulate(&sim, &window, out);
                pace[i] = window.pace;
                dlb_window_free(&window);
            }
            struct dlb_epoch_time first, within, foreseen;
            dlb_pace_within(&pace[0], &first);
            for (int i = 0; i < 4; i++) {
                assert_true(pace[i].n_cycles > 0);
                double cycle = (double)pace[i].cycles.ns / pace[i].n_cycles;
                dlb_pace_within(&pace[i], &within);
                assert_true(fabs(within.ns / first.ns - 1) < 0.02);
                for (int from = 0; from < 4; from++) {
                    dlb_pace_epoch(&pace[from], (double)lengths[i], &foreseen);
                    assert_true(fabs(foreseen.ns / cycle - 1) < 0.02);
                    assert_true(fabs(foreseen.busy_frac + foreseen.input_frac +
                                     foreseen.other_frac - 1) < 0.01);
                }
            }
        }
    free(out);
}

/* Nothing is made up: no steady state in short epochs, no border without one. */
static void what_was_not_measured_is_nan(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_epoch_time time;
    struct dlb_window window;
    struct simulated sim = {.n_workers = 8,
                            .prefetch_factor = 2,
                            .batch_ns = 80 * MS,
                            .step_ns = MS,
                            .n_epoch_batches = 20,
                            .n_epochs = 5,
                            .n_warmup = 8};

    simulate(&sim, &window, out);
    dlb_pace_within(&window.pace, &time);
    assert_true(isnan(time.ns));
    dlb_pace_epoch(&window.pace, 20, &time); /* measured as it is */
    assert_true(isfinite(time.ns));
    assert_true(isnan(time.border_ns));
    dlb_pace_epoch(&window.pace, 21, &time);
    assert_true(isnan(time.ns));
    dlb_window_free(&window);
    sim.n_epoch_batches = 100;
    sim.n_epochs = 1;
    simulate(&sim, &window, out);
    dlb_pace_within(&window.pace, &time);
    assert_true(isfinite(time.ns));
    dlb_pace_epoch(&window.pace, 100, &time);
    assert_true(isnan(time.ns));
    dlb_window_free(&window);
    free(out);
}

/* A window that no round fills counts what there is, and says so. */
static void a_cut_round_counts_alone(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    struct simulated sim = {.n_workers = 8,
                            .prefetch_factor = 2,
                            .batch_ns = 80 * MS,
                            .step_ns = MS,
                            .n_epoch_batches = 7,
                            .n_epochs = 1,
                            .n_warmup = 2};

    simulate(&sim, &window, out);
    assert_int_equal(window.share.n_steps, 4);
    assert_false(window.pace.whole_rounds);
    dlb_window_free(&window);
    sim.n_epoch_batches = 30;
    sim.n_warmup = 8;
    simulate(&sim, &window, out); /* 8 to 24, and 5 more that do not count */
    assert_int_equal(window.share.n_steps, 16);
    assert_int_equal(out->device[DLB_DS_COMPUTE].count, 4 + 16);
    assert_true(window.pace.whole_rounds);
    dlb_window_free(&window);
    free(out);
}

/* Batches that were ready before the window are used up in it: the loader makes 10 in the time in
 * which the device takes 12. */
static void stock_that_drains_is_told(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    struct dlb_span span = {.n_measured = 60, .round = 1};

    dlb_window_open(&window,
                    &(struct dlb_window_opts){
                        .round = 1, .n_workers = 1, .n_epoch_batches = 1000, .step_ns = 10 * MS});
    for (uint64_t i = 0; i < 100; i++) {
        double at = 1e9 + (double)i * 10 * MS, ready = 1e9 - 400 * MS + (double)i * 12 * MS;
        struct dlb_step step = {
            .mark = dlb_span_next(&span, i),
            .nth = i,
            .times = {.step_start_ns = (uint64_t)at, .step_end_ns = (uint64_t)(at + 10 * MS)},
            .ready_ns = (uint64_t)ready,
            .wait_start_ns = (uint64_t)at,
            .wait_end_ns = (uint64_t)at,
            .n_samples = 1,
            .first_of_epoch = i == 0};
        dlb_window_add(&window, &step, out);
    }
    dlb_window_close(&window, out);
    /* 60 batches took 600 ms; 50 were made in that time */
    assert_true(fabs(window.pace.drained_frac - 0.2) < 0.01);
    dlb_window_free(&window);
    free(out);
}

/* Three rounds show no scatter, so nothing is told of the window's halves or of its stock; of four
 * it is. */
static void short_windows_tell_nothing(void **state)
{
    (void)state;
    struct dlb_consumed *out = consumed();
    struct dlb_window window;
    struct simulated sim = {.n_workers = 8,
                            .prefetch_factor = 2,
                            .batch_ns = 80 * MS,
                            .step_ns = MS,
                            .n_epoch_batches = 100,
                            .n_epochs = 1,
                            .n_warmup = 8,
                            .n_measured = 24};

    simulate(&sim, &window, out);
    assert_int_equal(window.share.n_steps, 24);
    assert_false(dlb_pace_tells_trend(&window.pace));
    assert_true(isnan(window.pace.trend_limit));
    assert_true(isnan(window.pace.drained_frac));
    struct dlb_pace each[2] = {window.pace}, sum;
    dlb_window_free(&window);
    sim.n_measured = 32;
    simulate(&sim, &window, out);
    assert_int_equal(window.share.n_steps, 32);
    assert_true(dlb_pace_tells_trend(&window.pace) && dlb_pace_is_stationary(&window.pace));
    assert_true(window.pace.drained_frac == 0);
    /* Of several accelerators, those that can tell do. Who is the first makes no difference. */
    each[1] = window.pace;
    each[1].round = 3;
    each[1].n_epoch_batches = 90;
    for (int turned = 0; turned < 2; turned++) {
        const struct dlb_pace both[2] = {each[turned], each[!turned]};
        dlb_paces_add_up(both, NULL, 2, &sum);
        assert_int_equal(sum.round, 8);
        assert_true(sum.n_epoch_batches == 90);
    }
    assert_true(dlb_pace_tells_trend(&sum) && sum.trend == window.pace.trend);
    assert_true(sum.drained_frac == 0);
    dlb_window_free(&window);
    free(out);
}

/* A steady pace is seldom called unsteady, a slower second half mostly is. */
static void halves_are_compared(void **state)
{
    (void)state;
    enum { RUNS = 2000 };
    struct dlb_rng rng = dlb_rng_seed(7, 0, 0);
    uint32_t false_alarms = 0, found = 0;

    for (int r = 0; r < RUNS; r++) {
        struct dlb_rounds steady = {0}, slower = {0};
        for (int i = 0; i < 200; i++) {
            double ns = 80 * MS * (1 + 0.05 * normal(&rng));
            dlb_rounds_add(&steady, (uint64_t)ns);
            dlb_rounds_add(&slower, (uint64_t)(i < 100 ? ns : 1.05 * ns));
        }
        assert_true(steady.n_bins >= DLB_PACE_BINS / 2 && steady.n_bins < DLB_PACE_BINS);
        false_alarms += fabs(dlb_rounds_trend(&steady)) > dlb_rounds_trend_limit(&steady);
        found += fabs(dlb_rounds_trend(&slower)) > dlb_rounds_trend_limit(&slower);
    }
    printf("halves: %u of %d steady windows were called unsteady, %u of %d that slow by 5%% were "
           "found\n",
           false_alarms, RUNS, found, RUNS);
    assert_true(false_alarms < RUNS / 100);
    assert_true(found > RUNS * 95 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_do_not_bias_the_window),
        cmocka_unit_test(random_batches_are_foreseen),
        cmocka_unit_test(epochs_are_foreseen),
        cmocka_unit_test(what_was_not_measured_is_nan),
        cmocka_unit_test(a_cut_round_counts_alone),
        cmocka_unit_test(stock_that_drains_is_told),
        cmocka_unit_test(short_windows_tell_nothing),
        cmocka_unit_test(halves_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
