/* Runs that end early: no worker is waited for longer than it takes to see the order to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "loaders/worker/worker.h"
#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

static void run_ok(struct pipeline *p)
{
    pipeline_run(p);
    if (p->rc != DLB_OK) {
        char text[512];
        fail_msg("%s", dlb_err_text(&p->err, text, sizeof text));
    }
    assert_true(p->out->n_checksum_mismatches == 0);
}

/* An interrupt ends a run whose readers hang, and what was measured stays. */
struct rescue {
    atomic_bool cancel, hang;
    uint64_t cancel_ns;
};

static void *rescue_main(void *arg)
{
    struct rescue *rescue = arg;
    (void)dlb_sleep_until_ns(rescue->cancel_ns);
    atomic_store(&rescue->cancel, true);
    (void)dlb_sleep_until_ns(rescue->cancel_ns + 100 * DLB_NS_PER_MS);
    atomic_store(&rescue->hang, false);
    return NULL;
}

/* The run is cancelled a tenth of a second after its start; what hangs goes on as much later. */
static void run_interrupted(struct pipeline *p, struct rescue *rescue)
{
    pthread_t thread;
    rescue->cancel_ns = dlb_now_ns() + 100 * DLB_NS_PER_MS;
    p->cancel = &rescue->cancel;
    assert_int_equal(pthread_create(&thread, NULL, rescue_main, rescue), 0);
    pipeline_run(p);
    assert_int_equal(p->rc, DLB_E_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void an_interrupt_ends_a_hang(void **state)
{
    (void)state;
    struct rescue rescue = {.cancel = false};
    atomic_store(&rescue.hang, true);
    struct fake fake = fake_map(50);
    fake.hang = &rescue.hang;
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds, .loader = {.num_workers = 2}};
    run_interrupted(&p, &rescue);
    assert_int_equal(p.out->n_epochs, 1);
    assert_false(p.out->epoch[0].whole);
    pipeline_free(&p);
}

/* A run that has what it needs does not wait for batches that will not be used. */
static void stop_does_not_wait_for_a_batch(void **state)
{
    (void)state;
    struct fake fake = fake_map(100000);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .max_batches = 1,
                         .loader = {.num_workers = 2, .batch_size = 100, .sample_sleep_us = 10000}};
    run_ok(&p);
    assert_int_equal(p.out->total.n_steps, 1);
    assert_true(p.stop_ns < DLB_NS_PER_S / 2); /* a batch takes 1 s, a sample 10 ms */
    pipeline_free(&p);
}

/* Planted costs of a minute each: a loader that waited for one would have given up by then, which
 * pipeline_run does not let pass. */
static void stop_does_not_wait_for_a_plant(void **state)
{
    (void)state;
    const struct dlb_loader_opts plants[] = {
        {.sample_sleep_us = 60e6}, {.sample_spin_us = 60e6}, {.worker_init_ms = 60e3}};
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct rescue rescue = {.cancel = false};
        struct fake fake = fake_map(50);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {.dataset = &ds, .loader = plants[i]};
        p.loader.num_workers = 2;
        run_interrupted(&p, &rescue);
        pipeline_free(&p);
    }
}

/* What a reader of the next test sees and does. */
static struct {
    const struct dlb_worker_report *report;
    atomic_bool stop;
    int n_reads;
    uint64_t since_ns[3];
} told;

static int next_until_told(void *rd, struct dlb_dest dest, struct dlb_sample *out,
                           struct dlb_err *err)
{
    assert_in_range(told.n_reads, 0, 2);
    told.since_ns[told.n_reads++] = atomic_load(&told.report->at_since_ns);
    atomic_store(&told.stop, told.n_reads == 3);
    return fake_next(rd, dest, out, err);
}

/* The shuffle buffer holds 100 samples before it delivers the first; a stop does not wait until it
 * is full. The worker reports each read with a time of its own, so that progress can be seen. */
static void stop_does_not_wait_for_a_shuffle_buffer(void **state)
{
    (void)state;
    struct fake fake = fake_map(0);
    fake.n_shards = 1;
    fake.shard_samples[0] = 400;
    struct dlb_reader reader = fake_reader;
    reader.next = next_until_told;
    const struct dlb_format format = {.name = "fake", .reader = &reader};
    struct dlb_dataset ds = fake_dataset(&fake);
    ds.format = &format;
    const struct dlb_loader_opts opts = {
        .shuffle = true, .shuffle_buffer = 200, .shuffle_buffer_bytes = 1 << 20};
    const struct dlb_job job = {.dataset = &ds, .opts = &opts, .world = 1};
    const struct dlb_sampler_opts order = {.world = 1, .batch_size = 4, .shuffle = true};
    struct dlb_worker_report *report = calloc(1, sizeof *report);
    struct dlb_sampler sampler;
    struct dlb_slots slots;
    struct dlb_worker worker;
    struct dlb_err err;
    assert_non_null(report);
    told.report = report;
    assert_int_equal(dlb_sampler_open(&sampler, &ds.shape, &order, false, &err), DLB_OK);
    assert_int_equal(dlb_slots_open(&slots, 1, 4, FAKE_MAX_BYTES, false, &err), DLB_OK);
    const struct dlb_worker_setup setup = {
        .job = &job, .sampler = &sampler, .report = report, .stop = &told.stop, .n_workers = 1};
    assert_int_equal(dlb_worker_open(&worker, &setup, &err), DLB_OK);
    dlb_sampler_begin_epoch(&sampler, 0);
    dlb_worker_begin_epoch(&worker, 0);
    assert_int_equal(dlb_worker_fill(&worker, 0, &slots, 0, &err), DLB_E_CANCELLED);
    assert_int_equal(told.n_reads, 3);
    assert_true(told.since_ns[2] > told.since_ns[0]);
    dlb_worker_close(&worker);
    dlb_slots_close(&slots);
    dlb_sampler_close(&sampler);
    free(report);
}

/* Without workers the training loop itself loads: an interrupt ends it within a sample. */
static void an_interrupt_ends_a_slow_inline_batch(void **state)
{
    (void)state;
    struct rescue rescue = {.cancel = false};
    struct fake fake = fake_map(1000);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds, .loader = {.batch_size = 1000, .sample_sleep_us = 20000}};
    run_interrupted(&p, &rescue);
    pipeline_free(&p);
}

/* It also ends a step that takes longer than the time limit. */
static void an_interrupt_ends_a_long_step(void **state)
{
    (void)state;
    struct rescue rescue = {.cancel = false};
    struct fake fake = fake_map(1000);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {
        .dataset = &ds, .loader = {.num_workers = 1}, .device = {.step_ms = 60000}};
    run_interrupted(&p, &rescue);
    pipeline_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupt_ends_a_hang),
        cmocka_unit_test(stop_does_not_wait_for_a_batch),
        cmocka_unit_test(stop_does_not_wait_for_a_plant),
        cmocka_unit_test(stop_does_not_wait_for_a_shuffle_buffer),
        cmocka_unit_test(an_interrupt_ends_a_slow_inline_batch),
        cmocka_unit_test(an_interrupt_ends_a_long_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
