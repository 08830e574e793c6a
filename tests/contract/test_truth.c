/* Idle is true. Planted times must be found on the device's clock. A busy machine may disturb one
 * attempt; wrong accounting fails them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sys/prctl.h>

#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

enum { ATTEMPTS = 40 };

static double idle_of(const struct pipeline *p)
{
    return 1.0 - (double)p->out->busy_ns / (double)p->out->window_ns;
}

static void run(struct pipeline *p)
{
    pipeline_run(p);
    assert_int_equal(p->rc, DLB_OK);
    /* What holds on any machine: the window is whole, its parts add up, and no step is shorter than
     * asked. */
    const struct dlb_consumed *out = p->out;
    assert_true(out->window_ns > 0);
    assert_true(out->busy_ns + out->idle_input_ns + out->idle_copy_ns + out->idle_other_ns ==
                out->window_ns);
    double step_ns = p->device.step_ms * 1e6;
    assert_true((double)out->busy_ns >= (double)out->n_steps * (step_ns - 1));
    assert_true((double)p->wall_ns >= (double)out->n_steps * (step_ns - 1)); /* the outside clock */
    assert_true(out->unaccounted_ns <= out->wall_ns);
}

/* With data always ready a device with a queued step never idles. */
static void ready_data_keeps_the_device_busy(void **state)
{
    (void)state;
    for (int depth = 1; depth <= 2; depth++) {
        for (uint32_t workers = 1; workers <= 2; workers++) {
            double best_idle = 1, best_unaccounted = 1;
            /* A neighbour that takes the core for 1 ms spoils a window, so windows are short and
             * many. */
            for (int i = 0; i < 5 * ATTEMPTS && (best_idle > 0.01 || best_unaccounted > 0.01);
                 i++) {
                struct fake fake = fake_map(1000);
                struct dlb_dataset ds = fake_dataset(&fake);
                struct pipeline p = {
                    .dataset = &ds,
                    .max_batches = 200,
                    .warmup_batches = 5,
                    .loader = {.num_workers = workers, .prefetch_factor = 4, .pin_memory = true},
                    .device = {.prefetch = depth, .step_ms = 0.5}};
                run(&p);
                best_idle = fmin(best_idle, idle_of(&p));
                best_unaccounted =
                    fmin(best_unaccounted, (double)p.out->unaccounted_ns / (double)p.out->wall_ns);
                pipeline_free(&p);
            }
            assert_true(best_idle <= 0.01);
            assert_true(best_unaccounted <= 0.01);
        }
    }
}

/* One worker that needs D a batch, a step of S: idle = 1 - S / max(S, D), and it is the input's
 * fault. */
static void planted_delay_is_found(void **state)
{
    (void)state;
    const double planted_ms[] = {1, 6, 10};
    for (int d = 0; d < 3; d++) {
        double step_ms = 4, expect = 1 - step_ms / fmax(step_ms, planted_ms[d]), best = 1;
        for (int i = 0; i < ATTEMPTS && best > 0.02; i++) {
            struct fake fake = fake_map(1000);
            struct dlb_dataset ds = fake_dataset(&fake);
            struct pipeline p = {.dataset = &ds,
                                 .max_batches = 40,
                                 .warmup_batches = 4,
                                 .loader = {.num_workers = 1,
                                            .batch_size = 1,
                                            .sample_sleep_us = planted_ms[d] * 1e3,
                                            .pin_memory = true},
                                 .device = {.prefetch = 1, .step_ms = step_ms}};
            run(&p);
            double off = fabs(idle_of(&p) - expect);
            double input = (double)p.out->idle_input_ns / (double)p.out->window_ns;
            best = fmin(best, fmax(off, fabs(input - expect)));
            pipeline_free(&p);
        }
        assert_true(best <= 0.02);
    }
}

/* With 0 workers nothing overlaps: idle = D / (S + D). */
static void inline_loading_is_all_idle(void **state)
{
    (void)state;
    double best = 1;
    for (int i = 0; i < ATTEMPTS && best > 0.02; i++) {
        struct fake fake = fake_map(1000);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {
            .dataset = &ds,
            .max_batches = 30,
            .warmup_batches = 2,
            .loader = {.batch_size = 1, .sample_sleep_us = 5000, .pin_memory = true},
            .device = {.prefetch = 0, .step_ms = 5}};
        run(&p);
        best = fmin(best, fabs(idle_of(&p) - 0.5));
        pipeline_free(&p);
    }
    assert_true(best <= 0.02);
}

/* A copy that is hidden costs nothing, one on the compute stream is exposed. */
static void copies_are_exposed_only_without_prefetch(void **state)
{
    (void)state;
    struct fake fake = fake_map(4000);
    struct dlb_dataset ds = fake_dataset(&fake);
    ds.max_payload_bytes = 1 << 20;
    for (int depth = 0; depth <= 1; depth++) {
        struct pipeline p = {.dataset = &ds,
                             .max_batches = 50,
                             .loader = {.num_workers = 1, .batch_size = 64, .pin_memory = true},
                             .device = {.prefetch = depth, .step_ms = 5}};
        run(&p);
        uint64_t copy_ns = p.out->device[DLB_DS_COPY].sum_ns;
        assert_true(copy_ns > 0);
        if (depth == 0)
            assert_true(p.out->idle_copy_ns >= copy_ns * 9 / 10);
        pipeline_free(&p);
    }
}

/* Epoch boundaries lie inside the window: starting workers anew costs device time, and is named. */
static void epoch_boundaries_count(void **state)
{
    (void)state;
    struct fake fake = fake_map(20);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_epochs = 4,
                         .loader = {.num_workers = 1, .sample_sleep_us = 500, .pin_memory = true},
                         .device = {.prefetch = 1, .step_ms = 0.1}};
    run(&p);
    assert_int_equal(p.out->n_steps, 4 * 5 - 1);
    assert_true(p.out->epoch_idle_ns > 0);
    assert_int_equal(p.out->epoch[0].gap_ns, 0);
    uint64_t gaps_ns = 0;
    for (int e = 1; e < 4; e++) {
        /* A first batch of 4 samples must be loaded, while at most the last step of 0.1 ms still
         * runs. */
        assert_true(p.out->epoch[e].gap_ns >= 4 * 500 * 1000 - 200 * 1000);
        gaps_ns += p.out->epoch[e].gap_ns;
    }
    assert_true(gaps_ns == p.out->epoch_idle_ns);
    pipeline_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_data_keeps_the_device_busy),
        cmocka_unit_test(planted_delay_is_found),
        cmocka_unit_test(inline_loading_is_all_idle),
        cmocka_unit_test(copies_are_exposed_only_without_prefetch),
        cmocka_unit_test(epoch_boundaries_count),
    };
    (void)prctl(PR_SET_TIMERSLACK,
                1UL); /* as every cell does: planted times are what is measured */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
