/* What workers report of the window: batches that were begun within it, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

static const struct way {
    const char *kind;
    uint32_t n_workers;
    bool persistent, pin_thread;
} ways[] = {
    {"inline", 0, false, false},   {"inline", 0, false, true},    {"threads", 1, true, false},
    {"threads", 3, false, true},   {"threads", 3, true, false},   {"processes", 1, false, false},
    {"processes", 2, false, true}, {"processes", 2, true, false},
};
enum { N_WAYS = sizeof ways / sizeof *ways, BATCH = 4 };

static void run(struct pipeline *p, const struct way *way)
{
    p->loader.kind = pipeline_kind(way->kind);
    p->loader.num_workers = way->n_workers;
    p->loader.persistent_workers = way->persistent;
    p->loader.batch_size = BATCH;
    p->loader.pin_memory = way->pin_thread;
    p->loader.pin_mode = way->pin_thread ? DLB_PIN_THREAD : DLB_PIN_DIRECT;
    (void)fflush(NULL);
    pipeline_run(p);
    if (p->rc != DLB_OK)
        fail_msg("%s: %s", way->kind, p->err.what);
}

static void check_parts(const struct pipeline *p)
{
    const struct dlb_worker_meters *all = &p->stats->workers, *window = &p->stats->window;

    /* The end may have cut the last batch of each worker. */
    uint64_t n = window->n_batches * BATCH, n_cut = (uint64_t)p->loader.num_workers * 2 * BATCH;
    assert_in_range(window->n_samples, n, n + n_cut);
    assert_in_range(window->stage[DLB_WS_READ].count, n, n + n_cut);
    assert_true(all->n_batches >= window->n_batches && all->io_bytes >= window->io_bytes);
    assert_true(all->cpu_ns >= window->cpu_ns);
    for (int i = 0; i < DLB_WS_COUNT; i++) {
        assert_true(all->stage[i].count >= window->stage[i].count);
        assert_true(all->stage[i].sum_ns >= window->stage[i].sum_ns);
    }
}

/* Batches take 8 ms and steps nothing. When the window opens or closes, a worker has a batch under
 * way, and two more ready if the consumer was late. A sleep that follows one that took too long is
 * shorter. */
static void the_window_has_its_batches(void **state)
{
    (void)state;
    for (int i = 0; i < N_WAYS; i++) {
        struct fake fake = fake_map(1000);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {.dataset = &ds,
                             .n_epochs = 1,
                             .warmup_batches = 12,
                             .max_batches = 20,
                             .loader = {.sample_sleep_us = 2000},
                             .device = {.prefetch = 1, .step_ms = 0.01}};
        run(&p, &ways[i]);
        check_parts(&p);
        uint64_t n = p.stats->window.n_batches, slack = 3 * ways[i].n_workers;
        if (ways[i].n_workers == 0)
            assert_int_equal(n, 20 + 1); /* the one that closes the window */
        else
            assert_in_range(n, 20 + 1 - slack, 20 + 1 + slack);
        assert_true(p.stats->workers.n_batches >= 12 + 20 + 1);
        assert_true(p.stats->window.stage[DLB_WS_READ].sum_ns >= n * 4 * DLB_NS_PER_MS);
        if (ways[i].pin_thread)
            assert_in_range(p.stats->window.stage[DLB_WS_PIN].count, 20 - slack, 21 + slack);
        pipeline_free(&p);
    }
}

/* Without a warm-up, all that is consumed lies within the window, over the borders of epochs. */
static void a_window_without_warm_up_has_all(void **state)
{
    (void)state;
    for (int i = 0; i < N_WAYS; i++) {
        struct fake fake = fake_map(40);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {
            .dataset = &ds, .n_epochs = 3, .device = {.prefetch = 1, .step_ms = 0.01}};
        run(&p, &ways[i]);
        check_parts(&p);
        assert_int_equal(p.stats->workers.n_batches, 30);
        assert_int_equal(p.stats->window.n_batches, 30);
        pipeline_free(&p);
    }
}

/* What was skipped is told of the whole run. */
static void skipped_samples_are_told_wherever_they_are(void **state)
{
    (void)state;
    for (int i = 0; i < N_WAYS; i++) {
        struct fake fake = fake_map(400);
        fake.fail_at = 1; /* in the first batch, which is warm-up */
        struct dlb_dataset ds = fake_dataset(&fake);
        ds.on_error = DLB_ON_ERROR_SKIP;
        struct pipeline p = {.dataset = &ds,
                             .warmup_batches = 12,
                             .max_batches = 20,
                             .loader = {.sample_sleep_us = 500},
                             .device = {.prefetch = 1, .step_ms = 0.01}};
        run(&p, &ways[i]);
        assert_int_equal(p.stats->workers.n_skipped, 1);
        assert_int_equal(p.stats->window.n_skipped, 0);
        assert_int_equal(p.stats->n_skipped_named, 1);
        pipeline_free(&p);
    }
}

/* Accelerators with a loader each, and with one for all. */
static void each_accelerator_opens_its_loader_s_window(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct fake fake = fake_map(2000);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {.dataset = &ds,
                             .n_accelerators = 2,
                             .shared_workers = shared,
                             .warmup_batches = 10,
                             .max_batches = 20,
                             .loader = {.sample_sleep_us = 1000},
                             .device = {.prefetch = 1, .step_ms = 0.01}};
        run(&p, &(const struct way){"threads", 2, true, false});
        check_parts(&p);
        assert_in_range(p.stats->window.n_batches, 2 * 21 - 12, 2 * 21 + 12);
        assert_true(p.stats->workers.n_batches >= 2 * 31);
        pipeline_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_has_its_batches),
        cmocka_unit_test(a_window_without_warm_up_has_all),
        cmocka_unit_test(skipped_samples_are_told_wherever_they_are),
        cmocka_unit_test(each_accelerator_opens_its_loader_s_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
