/* Many accelerators in one process: together they train on every sample once, one is what one
 * always was, a barrier holds all of them, and no wait is circular. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <sys/prctl.h>

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
    assert_int_equal(p->out->n_accelerators, p->n_accelerators ? p->n_accelerators : 1);
}

static void pinned(struct pipeline *p, const char *kind)
{
    p->loader.pin_memory = true;
    if (p->loader.num_workers > 0)
        p->loader.kind = pipeline_kind(kind);
}

/* What all ranks deliver is the whole set: padded ones twice, as DistributedSampler has it, and no
 * other. A shared loader knows no ranks. */
static void each_sample_is_delivered_once(void **state)
{
    (void)state;
    enum { N = 103 };
    struct fake fake = fake_map(N);
    struct dlb_dataset ds = fake_dataset(&fake);
    const char *const kinds[] = {"threads", "threads", "processes"};
    for (int variant = 0; variant < 24; variant++) {
        bool shared = variant & 1, shuffle = variant & 2, any = variant & 4;
        int way = variant / 8;
        for (uint32_t n = 1; n <= 7; n += way == 2 ? 3 : 2) {
            struct pipeline p = {.dataset = &ds,
                                 .seed = 3,
                                 .n_epochs = 2,
                                 .n_accelerators = n,
                                 .shared_workers = shared,
                                 .barrier = way == 1,
                                 .checksum = true,
                                 .loader = {.num_workers = 1 + variant % 3,
                                            .persistent_workers = way == 1,
                                            .order = any ? DLB_ORDER_ANY : DLB_ORDER_IN_ORDER,
                                            .shuffle = shuffle},
                                 .device = {.prefetch = variant % 3, .step_ms = 0.02}};
            pinned(&p, kinds[way]);
            run_ok(&p);
            uint64_t padded = shared ? 0 : (N + n - 1) / n * n - N;
            for (int e = 0; e < 2; e++) {
                const struct dlb_epoch *epoch = &p.out->epoch[e];
                assert_true(epoch->whole);
                assert_int_equal(epoch->n_unique, N);
                assert_int_equal(epoch->n_samples, N + padded);
                assert_int_equal(epoch->n_expected, N + padded);
                assert_int_equal(epoch->n_padded, padded);
                if (padded == 0)
                    assert_true(epoch->set_checksum == p.out->epoch[0].set_checksum);
            }
            pipeline_free(&p);
        }
    }
}

/* The set is the same for any accelerators. */
static void the_set_is_that_of_one(void **state)
{
    (void)state;
    struct fake fake = fake_map(96);
    struct dlb_dataset ds = fake_dataset(&fake);
    uint64_t set = 0;
    for (uint32_t n = 1; n <= 8; n *= 2) {
        struct pipeline p = {.dataset = &ds,
                             .n_accelerators = n,
                             .checksum = true,
                             .loader = {.num_workers = 2, .shuffle = true},
                             .device = {.prefetch = 1}};
        pinned(&p, "threads");
        run_ok(&p);
        set = n == 1 ? p.out->epoch[0].set_checksum : set;
        assert_true(p.out->epoch[0].set_checksum == set);
        pipeline_free(&p);
    }
}

/* Streams are split by rank, then by worker; who has no shard of his own has nothing to do. */
static void shards_are_shared_out(void **state)
{
    (void)state;
    struct fake fake = fake_map(0);
    fake.n_shards = 6;
    memcpy(fake.shard_samples, (const uint32_t[]){20, 3, 7, 16, 9, 11}, 6 * sizeof(uint32_t));
    struct dlb_dataset ds = fake_dataset(&fake);
    for (uint32_t n = 1; n <= 3; n++) {
        for (int shared = 0; shared <= 1; shared++) {
            struct pipeline p = {.dataset = &ds,
                                 .n_epochs = 2,
                                 .n_accelerators = n,
                                 .shared_workers = shared,
                                 .barrier = n == 3,
                                 .loader = {.num_workers = 2},
                                 .device = {.prefetch = 1}};
            pinned(&p, "threads");
            run_ok(&p);
            for (int e = 0; e < 2; e++) {
                assert_int_equal(p.out->epoch[e].n_samples, 66);
                assert_int_equal(p.out->epoch[e].n_unique, 66);
            }
            pipeline_free(&p);
        }
    }
}

/* Everybody comes to an end, with the fewest slots and credits, too. */
static void nobody_waits_in_a_circle(void **state)
{
    (void)state;
    struct fake fake = fake_map(640);
    struct dlb_dataset ds = fake_dataset(&fake);
    const uint32_t counts[] = {1, 2, 3, 5, 8, 16, 33, 64};
    for (int i = 0; i < 8; i++)
        for (int variant = 0; variant < 3 * 4 * 4; variant++) {
            int depth = variant % 3, workers = variant / 3 % 4;
            bool shared = variant / 12 & 1, barrier = variant / 12 & 2;
            if (counts[i] > 8 && !shared && (variant + i) % 3 != 0)
                continue; /* many loaders take their time to start: a third of them */
            struct pipeline p = {.dataset = &ds,
                                 .n_accelerators = counts[i],
                                 .shared_workers = shared,
                                 .barrier = barrier,
                                 .loader = {.num_workers = workers, .prefetch_factor = 1},
                                 .device = {.prefetch = depth, .step_ms = variant % 2 ? 0.01 : 0}};
            pinned(&p, "threads");
            run_ok(&p);
            assert_int_equal(p.out->epoch[0].n_unique, 640);
            pipeline_free(&p);
        }
}

/* Each of those that share a pool may hold a slot while it is copied and as many as it prefetches,
 * and all may be of one worker, the only one or the faster one: who has a credit finds a slot all
 * the same. */
static void a_shared_pool_has_slots_for_all(void **state)
{
    (void)state;
    struct fake fake = fake_map(2000);
    struct dlb_dataset ds = fake_dataset(&fake);
    for (int variant = 0; variant < 3 * 2; variant++) {
        int depth = variant % 3;
        bool any = variant / 3;
        struct pipeline p = {.dataset = &ds,
                             .n_accelerators = 8,
                             .shared_workers = true,
                             .loader = {.num_workers = any ? 2 : 1,
                                        .prefetch_factor = 1,
                                        .order = any ? DLB_ORDER_ANY : DLB_ORDER_IN_ORDER},
                             .device = {.prefetch = depth, .step_ms = 0.1}};
        pinned(&p, "threads");
        p.device.pinned_bytes_per_s = 1e5; /* copies of some milliseconds */
        run_ok(&p);
        assert_int_equal(p.out->epoch[0].n_unique, 2000);
        assert_int_equal(p.stats->workers.stage[DLB_WS_WAIT_SLOT].count, 0);
        pipeline_free(&p);
    }
}

/* Each has its own quota; who has his trains on until the last has. */
static void everybody_measures_as_many_batches(void **state)
{
    (void)state;
    struct fake fake = fake_map(8000);
    struct dlb_dataset ds = fake_dataset(&fake);
    for (int shared = 0; shared <= 1; shared++) {
        struct pipeline p = {.dataset = &ds,
                             .n_accelerators = 4,
                             .shared_workers = shared,
                             .max_batches = 20,
                             .warmup_batches = 3,
                             .slow_step_ms = 2,
                             .loader = {.num_workers = 2},
                             .device = {.prefetch = 1, .step_ms = 0.5}};
        pinned(&p, "threads");
        run_ok(&p);
        assert_int_equal(p.out->total.n_steps, 4 * 20);
        for (int i = 0; i < 4; i++) {
            const struct dlb_share *one = &p.out->share[i];
            assert_int_equal(one->n_steps, 20);
            assert_true(one->busy_ns + one->idle_input_ns + one->idle_copy_ns +
                            one->idle_other_ns ==
                        one->window_ns);
        }
        assert_int_equal(p.out->share[0].busy_ns, 20 * 500000);
        assert_int_equal(p.out->share[3].busy_ns, 20 * 2000000);
        /* three fast ones went on while the slow one measured */
        assert_true(p.out->epoch[0].n_samples > 4 * 24 * 4);
        assert_false(p.out->epoch[0].whole);
        pipeline_free(&p);
    }
}

/* Times of many are those of a mean one, rates are added up. */
static void figures_of_many_add_up(void **state)
{
    (void)state;
    struct fake fake = fake_map(4000);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_accelerators = 3,
                         .max_batches = 30,
                         .slow_step_ms = 3,
                         .loader = {.num_workers = 1},
                         .device = {.prefetch = 1, .step_ms = 1}};
    pinned(&p, "threads");
    run_ok(&p);
    const struct dlb_consumed *out = p.out;
    double rate = 0, busy = 0;
    for (int i = 0; i < 3; i++) {
        rate += (double)out->share[i].n_samples / (double)out->share[i].window_ns;
        busy += (double)out->share[i].busy_ns / (double)out->share[i].window_ns / 3;
    }
    assert_true(fabs((double)out->total.n_samples / (double)out->total.window_ns / rate - 1) <
                1e-6);
    /* also within epochs: their steps pooled would be 0.77 of this */
    const struct dlb_stretch *within = &out->pace.within;
    assert_true(fabs((double)within->n_samples / (double)within->ns / (rate / 3) - 1) < 0.05);
    assert_true(fabs((double)out->total.busy_ns / (double)out->total.window_ns - busy) < 1e-6);
    assert_true(out->total.busy_ns + out->total.idle_input_ns + out->total.idle_copy_ns +
                    out->total.idle_other_ns ==
                out->total.window_ns);
    assert_true(fabs(out->total.au.measured - busy) < 1e-6);
    assert_true(out->lowest.measured <= out->total.au.measured);
    /* the slow one was asked for 1 ms: nominally it is used for a third of the time at most */
    assert_true(out->lowest.nominal < 0.34);
    assert_true(out->consumer[DLB_CS_ACCOUNT].count > 0);
    assert_true(out->total.unaccounted_ns <= out->total.wall_ns);
    assert_true(out->cpu_ns > 0);
    pipeline_free(&p);
}

/* With 0 workers the one thread loads for each in turn: what the others wait meanwhile is part of
 * their account, to the end. */
static void waiting_for_a_turn_is_accounted_for(void **state)
{
    (void)state;
    struct fake fake = fake_map(4000);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_accelerators = 4,
                         .max_batches = 4,
                         .loader = {.batch_size = 1, .sample_sleep_us = 5000},
                         .device = {.prefetch = 1, .step_ms = 5}};
    pinned(&p, "inline");
    run_ok(&p);
    assert_true(p.out->total.unaccounted_ns <
                p.out->total.wall_ns / 20); /* 0.12 without the last wait */
    pipeline_free(&p);
}

/* One that takes 4 ms a step: all take 4 ms from step to step, and it is not the input's fault.
 * False where a busy machine let one see the beginning of its window late, or starved the worker.
 */
static bool is_held(struct pipeline *p)
{
    const struct dlb_share *first = &p->out->share[0];
    bool held = first->idle_other_ns > first->idle_input_ns;
    for (int i = 0; i < 4; i++) {
        const struct dlb_share *one = &p->out->share[i];
        assert_int_equal(one->n_steps, 20);
        assert_int_equal(one->busy_ns, (i == 3 ? 80u : 20u) * DLB_NS_PER_MS);
        held = held && one->window_ns >= 20 * 4 * DLB_NS_PER_MS;
    }
    return held;
}

static void a_barrier_holds_all(void **state)
{
    (void)state;
    struct fake fake = fake_map(4000);
    struct dlb_dataset ds = fake_dataset(&fake);
    for (int depth = 0; depth <= 2; depth++) {
        bool held = false;
        for (int attempt = 0; attempt < 5 && !held; attempt++) {
            struct pipeline p = {.dataset = &ds,
                                 .n_accelerators = 4,
                                 .barrier = true,
                                 .max_batches = 20,
                                 .warmup_batches = 2,
                                 .slow_step_ms = 4,
                                 .loader = {.num_workers = 1},
                                 .device = {.prefetch = depth, .step_ms = 1}};
            pinned(&p, "threads");
            run_ok(&p);
            held = is_held(&p);
            pipeline_free(&p);
        }
        assert_true(held);
    }
}

/* A batch that comes late for one is late for all, and it is the input's fault everywhere. */
static void a_barrier_hands_on_the_blame(void **state)
{
    (void)state;
    struct fake fake = fake_map(400);
    fake.slow_at = 201; /* of the second rank */
    fake.slow_ns = 600 * DLB_NS_PER_MS;
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_accelerators = 4,
                         .barrier = true,
                         .loader = {.num_workers = 1},
                         .device = {.prefetch = 1, .step_ms = 1}};
    pinned(&p, "threads");
    run_ok(&p);
    for (int i = 0; i < 4; i++) {
        const struct dlb_share *one = &p.out->share[i];
        assert_true(one->window_ns >= 150 * DLB_NS_PER_MS);
        assert_true(one->idle_input_ns >= 150 * DLB_NS_PER_MS);
    }
    pipeline_free(&p);
}

/* What goes wrong in one worker of one loader ends the run and says so. */
static void one_failure_ends_all(void **state)
{
    (void)state;
    struct fake fake = fake_map(400);
    fake.fail_at = 333;
    struct dlb_dataset ds = fake_dataset(&fake);
    const char *const kinds[] = {"threads", "processes"};
    for (int i = 0; i < 4; i++) {
        struct pipeline p = {.dataset = &ds,
                             .n_accelerators = 5,
                             .shared_workers = i & 1,
                             .loader = {.num_workers = 2},
                             .device = {.prefetch = 1, .step_ms = 0.1}};
        pinned(&p, kinds[i / 2]);
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_E_FORMAT);
        assert_non_null(strstr(p.err.what, "333"));
        pipeline_free(&p);
    }
}

static void *interrupt_soon(void *cancel)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    atomic_store((atomic_bool *)cancel, true);
    return NULL;
}

/* In the middle of steps that would take a minute. */
static void an_interrupt_ends_long_steps(void **state)
{
    (void)state;
    atomic_bool cancel = false;
    pthread_t thread;
    struct fake fake = fake_map(400);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_accelerators = 3,
                         .cancel = &cancel,
                         .loader = {.num_workers = 1},
                         .device = {.prefetch = 1, .step_ms = 60000}};
    pinned(&p, "threads");
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, &cancel), 0);
    pipeline_run(&p);
    (void)pthread_join(thread, NULL);
    assert_int_equal(p.rc, DLB_E_CANCELLED);
    assert_true(p.wall_ns < 30 * DLB_NS_PER_S);
    pipeline_free(&p);
}

static void an_interrupt_ends_all(void **state)
{
    (void)state;
    atomic_bool cancel = true;
    struct fake fake = fake_map(400);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = {.dataset = &ds,
                         .n_accelerators = 3,
                         .cancel = &cancel,
                         .loader = {.num_workers = 1},
                         .device = {.prefetch = 1, .step_ms = 1}};
    pinned(&p, "threads");
    pipeline_run(&p);
    assert_int_equal(p.rc, DLB_E_CANCELLED);
    pipeline_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_is_delivered_once),
        cmocka_unit_test(the_set_is_that_of_one),
        cmocka_unit_test(shards_are_shared_out),
        cmocka_unit_test(nobody_waits_in_a_circle),
        cmocka_unit_test(a_shared_pool_has_slots_for_all),
        cmocka_unit_test(everybody_measures_as_many_batches),
        cmocka_unit_test(figures_of_many_add_up),
        cmocka_unit_test(waiting_for_a_turn_is_accounted_for),
        cmocka_unit_test(a_barrier_holds_all),
        cmocka_unit_test(a_barrier_hands_on_the_blame),
        cmocka_unit_test(one_failure_ends_all),
        cmocka_unit_test(an_interrupt_ends_all),
        cmocka_unit_test(an_interrupt_ends_long_steps),
    };
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
