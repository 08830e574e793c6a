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
    live.n_devices = 1;
    dlb_rates_look(&seen, &live, START_NS);
    dlb_live_step(&live, 100, START_NS + 1); /* the first step: nothing to compare it with */
    dlb_rates_look(&seen, &live, START_NS + LOOK_NS);
    r = rates();
    assert_true(isnan(r.samples_per_s) && isnan(r.idle_frac));
}

/* A loop on one device: steps of step_ns, one every every_ns; the looks are at other times. What is
 * shown is the truth at each look from the second step on. */
static void run_steps(uint64_t every_ns, uint64_t step_ns, uint64_t n_samples, double tolerance)
{
    uint64_t next_ns = START_NS + 70 * DLB_NS_PER_MS, last_ns = START_NS + 60 * DLB_NS_PER_S;
    uint32_t n_steps = 0;
    (void)clear(NULL);
    live.n_devices = 1;
    for (uint64_t now_ns = START_NS; now_ns < last_ns; now_ns += LOOK_NS) {
        for (; next_ns <= now_ns; next_ns += every_ns, n_steps++) {
            dlb_live_step(&live, n_samples, next_ns);
            dlb_live_give(&live.device[0], next_ns, next_ns + step_ns);
        }
        dlb_rates_look(&seen, &live, now_ns);
        struct dlb_rates r = rates();
        double truth = (double)n_samples * 1e9 / (double)every_ns;
        if (seen.n_steps > 1)
            assert_true(fabs(r.samples_per_s / truth - 1) < 1e-9);
        else
            assert_true(isnan(r.samples_per_s));
        if (now_ns > START_NS + 10 * DLB_NS_PER_S)
            assert_true(fabs(r.idle_frac - (1 - (double)step_ns / (double)every_ns)) < tolerance);
    }
    assert_true(n_steps > 10);
}

/* Of 3 s a step of 2 s is a good part: its beginning counts where it is. */
static void rates_are_the_planted_ones(void **state)
{
    const uint64_t ms = DLB_NS_PER_MS;
    (void)state;
    run_steps(10 * ms, 5 * ms, 32, 0.002);
    run_steps(200 * ms, 200 * ms, 16, 0.001);
    run_steps(2000 * ms, 2000 * ms, 100, 0.001); /* data are always there */
    run_steps(2500 * ms, 2500 * ms, 16, 0.001);
    run_steps(5000 * ms, 200 * ms, 100, 0.08); /* it starves: a step is within the 3 s, or is not */
}

/* No batch comes for 10 s. */
static void a_device_that_starves_is_idle(void **state)
{
    uint64_t now_ns = START_NS;
    (void)state;
    live.n_devices = 1;
    for (int i = 0; i < 20; i++, now_ns += LOOK_NS) {
        dlb_live_step(&live, 20, now_ns);
        dlb_live_give(&live.device[0], now_ns, now_ns + LOOK_NS);
        dlb_rates_look(&seen, &live, now_ns);
    }
    assert_true(near(rates().samples_per_s, 100) && near(rates().idle_frac, 0));
    for (int i = 0; i < 50; i++, now_ns += LOOK_NS)
        dlb_rates_look(&seen, &live, now_ns);
    assert_true(near(rates().idle_frac, 1));
    assert_true(rates().samples_per_s < 30);
    now_ns += LOOK_NS;
    dlb_live_step(&live, 20, now_ns);
    dlb_rates_look(&seen, &live, now_ns);
    assert_true(rates().samples_per_s < 30); /* its samples are those of the wait */
}

/* Two devices, of which one waits; a third has no step yet. */
static void idle_is_of_all_devices(void **state)
{
    (void)state;
    live.n_devices = 3;
    dlb_live_give(&live.device[0], START_NS, START_NS + 8 * LOOK_NS);
    dlb_live_give(&live.device[1], START_NS, START_NS + LOOK_NS);
    dlb_rates_look(&seen, &live, START_NS);
    dlb_rates_look(&seen, &live, START_NS + 4 * LOOK_NS);
    assert_true(near(rates().idle_frac, 3.0 / 8));
}

/* Rates follow a change within 3 s, also after the ring went round. */
static void rates_are_of_the_last_seconds(void **state)
{
    uint64_t now_ns = START_NS;
    (void)state;
    for (int i = 0; i < 1000; i++, now_ns += LOOK_NS) {
        dlb_live_step(&live, i > 900 ? 80 : 200, now_ns);
        dlb_rates_look(&seen, &live, now_ns);
        if (i > 0 && i <= 900)
            assert_true(near(rates().samples_per_s, 1000));
        if (i > 900 + 3 * 5)
            assert_true(near(rates().samples_per_s, 400));
    }
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
    dlb_live_begin(span, 0); /* it is taken back */
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

/* Opening the data takes long: a worker that has just begun is not busy for that long. */
static void a_worker_counts_from_its_start(void **state)
{
    (void)state;
    dlb_rates_look(&seen, &live, START_NS);
    live.worker[0].began_ns = START_NS + 3 * LOOK_NS;
    dlb_live_begin(&live.worker[0].blocked, START_NS + 3 * LOOK_NS);
    dlb_rates_look(&seen, &live, START_NS + 4 * LOOK_NS);
    assert_true(near(rates().worker[0].blocked_frac, 1));
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
        cmocka_unit_test_setup(rates_are_the_planted_ones, clear),
        cmocka_unit_test_setup(a_device_that_starves_is_idle, clear),
        cmocka_unit_test_setup(idle_is_of_all_devices, clear),
        cmocka_unit_test_setup(rates_are_of_the_last_seconds, clear),
        cmocka_unit_test_setup(spans_begin_and_end, clear),
        cmocka_unit_test_setup(shares_of_workers, clear),
        cmocka_unit_test_setup(a_worker_counts_from_its_start, clear),
        cmocka_unit_test_setup(workers_have_places, clear),
        cmocka_unit_test_setup(a_wait_is_never_counted_twice, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
