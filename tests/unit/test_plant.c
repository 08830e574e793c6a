/* A planted spin uses CPU time, also when another thread competes for the core. A planted sleep
 * uses none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "loaders/worker/plant.h"

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void *compete(void *arg)
{
    atomic_bool *stop = arg;
    while (!atomic_load_explicit(stop, memory_order_relaxed))
        ;
    return NULL;
}

static uint64_t plant_cpu_ns(const struct dlb_loader_opts *opts, int n_samples)
{
    const struct dlb_job job = {.opts = opts};
    struct dlb_worker_report *report = calloc(1, sizeof *report);
    const struct dlb_worker_setup setup = {.job = &job, .report = report};
    struct dlb_plant plant;
    struct dlb_err err;
    uint64_t start_ns = cpu_ns();

    assert_int_equal(dlb_plant_open(&plant, &setup, &err), DLB_OK);
    for (int i = 0; i < n_samples; i++) {
        (void)dlb_plant_sleep(&plant, dlb_now_ns());
        (void)dlb_plant_spin(&plant, dlb_now_ns());
    }
    dlb_plant_close(&plant);
    free(report);
    return cpu_ns() - start_ns;
}

/* Another thread takes half of the one core, so wall time passes twice as fast as CPU time. */
static void a_spin_burns_cpu_time(void **state)
{
    (void)state;
    atomic_bool stop = false;
    pthread_t thread;
    cpu_set_t before, one;
    const struct dlb_loader_opts opts[] = {{.sample_spin_us = 20000}, {.sample_spin_us = 10}};
    const int n_samples[] = {5, 10000};

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(pthread_create(&thread, NULL, compete, &stop), 0);
    for (int i = 0; i < 2; i++)
        assert_in_range(plant_cpu_ns(&opts[i], n_samples[i]), 100 * DLB_NS_PER_MS,
                        150 * DLB_NS_PER_MS);
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void starting_burns_cpu_time(void **state)
{
    (void)state;
    const struct dlb_loader_opts opts = {.worker_init_ms = 20};
    assert_in_range(plant_cpu_ns(&opts, 0), 20 * DLB_NS_PER_MS, 40 * DLB_NS_PER_MS);
}

static void a_sleep_burns_none(void **state)
{
    (void)state;
    const struct dlb_loader_opts opts = {.sample_sleep_us = 1000};
    assert_in_range(plant_cpu_ns(&opts, 50), 0, 25 * DLB_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spin_burns_cpu_time),
        cmocka_unit_test(starting_burns_cpu_time),
        cmocka_unit_test(a_sleep_burns_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
