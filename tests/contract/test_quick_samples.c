/* Quick samples, which share time stamps: all of them count, slow ones among them are seen, and a
 * worker that is slow is not called stuck. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loaders/worker/quick.h"
#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

enum { N = 2000, BATCH = 67 };

static struct pipeline over(const struct dlb_dataset *ds, uint32_t n_workers)
{
    struct pipeline p = {.dataset = ds, .n_epochs = 1};
    p.loader.num_workers = n_workers;
    p.loader.kind = pipeline_kind(n_workers ? "threads" : "inline");
    p.loader.batch_size = BATCH;
    return p;
}

static const struct dlb_hist *reads(const struct pipeline *p)
{
    return &p->stats->workers.stage[DLB_WS_READ];
}

static void all_count(void **state)
{
    (void)state;
    for (int way = 0; way < 8; way++) {
        uint32_t n_workers = way & 1 ? 2 : 0;
        bool spoilt = way & 2;
        struct fake fake = fake_map(N);
        struct dlb_dataset ds = fake_dataset(&fake);
        fake.no_place = way & 4;
        fake.slow_at = 999;
        fake.slow_ns = 20 * DLB_NS_PER_MS;
        if (spoilt) {
            fake.fail_at = 555;
            ds.on_error = DLB_ON_ERROR_SKIP;
        }
        struct pipeline p = over(&ds, n_workers);
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        assert_int_equal(p.out->epoch[0].n_unique, N - spoilt);
        assert_int_equal(p.stats->workers.n_skipped, spoilt);
        assert_int_equal(p.stats->workers.n_samples, N - spoilt);
        assert_int_equal(reads(&p)->count, N);
        assert_true(reads(&p)->sum_ns >= fake.slow_ns);
        assert_true(reads(&p)->sum_ns <= p.wall_ns * (n_workers ? n_workers : 1));
        assert_true(reads(&p)->max_ns >= fake.slow_ns - DLB_QUICK_NS);
        pipeline_free(&p);
    }
}

/* Batches that nobody took any more are cancelled in their middle. */
static void what_was_cancelled_counts(void **state)
{
    (void)state;
    struct fake fake = fake_map(100000);
    struct dlb_dataset ds = fake_dataset(&fake);
    for (int i = 0; i < 5; i++) {
        struct pipeline p = over(&ds, 2);
        p.loader.batch_size = 5000;
        p.max_batches = 3;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        /* Of each worker one may have been read when it was told to stop. */
        assert_in_range(reads(&p)->count, p.stats->workers.n_samples - 2,
                        p.stats->workers.n_samples);
        pipeline_free(&p);
    }
}

static void a_fatal_error_names_its_sample(void **state)
{
    (void)state;
    struct fake fake = fake_map(N);
    struct dlb_dataset ds = fake_dataset(&fake);
    fake.fail_at = 1234;
    struct pipeline p = over(&ds, 1);
    pipeline_run(&p);
    assert_int_equal(p.rc, DLB_E_FORMAT);
    assert_int_equal(p.err.offset_bytes, 1234);
    pipeline_free(&p);
}

/* 31 quick samples make 16 share the next stamp. These take longer than the limit, and none of them
 * does. */
static void slow_ones_after_quick_ones_are_not_stuck(void **state)
{
    (void)state;
    struct dlb_pulse pulse = {.stall_ns = 300 * DLB_NS_PER_MS};
    struct fake fake = fake_map(47);
    struct dlb_dataset ds = fake_dataset(&fake);
    fake.slow_from = 32;
    fake.slow_ns = 60 * DLB_NS_PER_MS;
    struct pipeline p = over(&ds, 1);
    p.pulse = &pulse;
    pipeline_run(&p);
    assert_int_equal(p.rc, DLB_OK);
    assert_int_equal(reads(&p)->count, 47);
    assert_true(reads(&p)->sum_ns >= 15 * fake.slow_ns);
    pipeline_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_count),
        cmocka_unit_test(what_was_cancelled_counts),
        cmocka_unit_test(a_fatal_error_names_its_sample),
        cmocka_unit_test(slow_ones_after_quick_ones_are_not_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
