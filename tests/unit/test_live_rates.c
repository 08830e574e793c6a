/* The counters that a running process shows, and the rates that are made of them. */
#include "bench/live/rates.h"

#include "core/base/clock.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define START_NS (1000 * DLB_NS_PER_S)
#define LOOK_NS (200 * DLB_NS_PER_MS)

static struct dlb_live live;
static struct dlb_rates_seen seen;

static int clear(void **state)
{
    (void)state;
    memset(&live, 0, sizeof live);
    dlb_rates_restart(&seen);
    return 0;
}

static struct dlb_rates rates(void)
{
    struct dlb_rates out;
    dlb_rates_of(&seen, &live, &out);
    return out;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9 * (1 + fabs(b));
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct dlb_rates r = rates();
    assert_true(isnan(r.samples_per_s) && isnan(r.idle_frac));
    assert_int_equal(r.n_shown, 0);
    dlb_live_add(&live.n_samples, 100);
    dlb_rates_look(&seen, &live, START_NS);
    r = rates();
    assert_true(isnan(r.samples_per_s) && isnan(r.idle_frac));
    /* Samples were delivered, and no step has ended. */
    dlb_live_add(&live.n_samples, 100);
    dlb_rates_look(&seen, &live, START_NS + LOOK_NS);
    r = rates();
    assert_true(near(r.samples_per_s, 500));
    assert_true(isnan(r.idle_frac));
}

/* 1,000 samples/s with steps half of the time; later 400, and a tenth of it. */
static void rates_are_of_the_last_seconds(void **state)
{
    uint64_t now_ns = START_NS;
    (void)state;
    for (int i = 0; i < 60; i++, now_ns += LOOK_NS) {
        bool late = i > 30;
        dlb_live_add(&live.n_samples, late ? 80 : 200);
        dlb_live_add(&live.stepped_ns, LOOK_NS);
        dlb_live_add(&live.busy_ns, late ? LOOK_NS / 10 : LOOK_NS / 2);
        dlb_rates_look(&seen, &live, now_ns);
        struct dlb_rates r = rates();
        if (i > 0 && !late)
            assert_true(near(r.samples_per_s, 1000) && near(r.idle_frac, 0.5));
        if (i > 30 + 3 * 5)
            assert_true(near(r.samples_per_s, 400) && near(r.idle_frac, 0.9));
    }
}

/* Looks that are rarer than the span still have a rate, and a ring that went round several times
 * does. */
static void rare_and_many_looks(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++, dlb_live_add(&live.n_samples, 700))
        dlb_rates_look(&seen, &live, START_NS + i * 7 * DLB_NS_PER_S);
    assert_true(near(rates().samples_per_s, 100));
    for (uint64_t i = 0; i < 1000; i++, dlb_live_add(&live.n_samples, 1))
        dlb_rates_look(&seen, &live, START_NS + 60 * DLB_NS_PER_S + i * DLB_NS_PER_MS);
    assert_true(near(rates().samples_per_s, 1000));
    dlb_rates_restart(&seen);
    assert_true(isnan(rates().samples_per_s));
}

static void spans_begin_and_end(void **state)
{
    struct dlb_live_span *span = &live.worker[0].blocked;
    (void)state;
    dlb_live_begin(span, 1000);
    dlb_live_begin(span, 1400); /* it goes on */
    assert_int_equal(dlb_live_until(span, 1500), 500);
    assert_int_equal(dlb_live_until(span, 900), 0); /* the reader's clock was read before */
    dlb_live_end(span, 600);
    assert_int_equal(dlb_live_until(span, 9000), 600);
    dlb_live_begin(span, 10000);
    dlb_live_begin(span, 0); /* it came to nothing */
    assert_int_equal(dlb_live_until(span, 11000), 600);
    dlb_live_end(span, 50); /* of one that was not begun */
    assert_int_equal(dlb_live_until(span, 11000), 650);
}

static void shares_of_workers(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        live.worker[i].began_ns = START_NS;
    live.worker[4].began_ns = START_NS; /* the one before has not begun */
    live.n_workers = 8;
    dlb_rates_look(&seen, &live, START_NS);
    dlb_live_end(&live.worker[0].blocked, LOOK_NS / 4);
    dlb_live_begin(&live.worker[1].waiting, START_NS + LOOK_NS / 2); /* goes on */
    dlb_live_end(&live.worker[2].blocked, 2 * LOOK_NS);              /* began before the look */
    dlb_live_end(&live.worker[2].waiting, LOOK_NS);
    dlb_rates_look(&seen, &live, START_NS + LOOK_NS);
    struct dlb_rates r = rates();
    assert_int_equal(r.n_workers, 8);
    assert_int_equal(r.n_shown, 3);
    assert_true(near(r.worker[0].blocked_frac, 0.25) && r.worker[0].waiting_frac == 0);
    assert_true(near(r.worker[1].waiting_frac, 0.5) && r.worker[1].blocked_frac == 0);
    assert_true(r.worker[2].blocked_frac == 1 && r.worker[2].waiting_frac == 0);
}

static void workers_have_places(void **state)
{
    (void)state;
    assert_ptr_equal(dlb_live_worker(&live, 0), &live.worker[0]);
    assert_ptr_equal(dlb_live_worker(&live, DLB_LIVE_WORKERS - 1),
                     &live.worker[DLB_LIVE_WORKERS - 1]);
    assert_null(dlb_live_worker(&live, DLB_LIVE_WORKERS));
    assert_null(dlb_live_worker(NULL, 0));
    for (int i = 0; i < DLB_LIVE_WORKERS; i++)
        live.worker[i].began_ns = 1;
    dlb_rates_look(&seen, &live, START_NS);
    dlb_rates_look(&seen, &live, START_NS + 1);
    assert_int_equal(rates().n_shown, DLB_LIVE_WORKERS);
}

#define N_SPANS 20000

/* Waits of 10 ns that follow each other at once, in a time that only the writer sets. */
static void *wait_often(void *arg)
{
    _Atomic uint64_t *now_ns = arg;
    for (uint64_t i = 0; i < N_SPANS; i++) {
        dlb_live_begin(&live.worker[0].waiting, 1 + 10 * i);
        dlb_live_end(&live.worker[0].waiting, 10);
        atomic_store(now_ns, 1 + 10 * (i + 1));
    }
    return NULL;
}

/* A reader in another thread never sees more waiting than there was time, but for what ended since
 * it looked at the clock. */
static void a_wait_is_never_counted_twice(void **state)
{
    _Atomic uint64_t now_ns = 1;
    pthread_t id;
    (void)state;
    assert_int_equal(pthread_create(&id, NULL, wait_often, &now_ns), 0);
    for (uint64_t looked_ns = 0; looked_ns < 1 + 10 * N_SPANS;) {
        looked_ns = atomic_load(&now_ns);
        uint64_t waited_ns = dlb_live_until(&live.worker[0].waiting, looked_ns);
        assert_true(waited_ns <= atomic_load(&now_ns) - 1 + 10);
    }
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(dlb_live_until(&live.worker[0].waiting, UINT64_MAX), 10 * N_SPANS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_known_at_first, clear),
        cmocka_unit_test_setup(rates_are_of_the_last_seconds, clear),
        cmocka_unit_test_setup(rare_and_many_looks, clear),
        cmocka_unit_test_setup(spans_begin_and_end, clear),
        cmocka_unit_test_setup(shares_of_workers, clear),
        cmocka_unit_test_setup(workers_have_places, clear),
        cmocka_unit_test_setup(a_wait_is_never_counted_twice, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
