/* The training loop's own CPU time (device.host_busy_frac), by clocks that do not depend on what
 * else the machine does: CPU time, which passes no faster than the wall clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

enum { BATCHES = 60, WARM = 3 };

static void run(double step_ms, double host_busy_frac, struct pipeline *p)
{
    static struct fake fake;
    static struct dlb_dataset ds;
    fake = fake_map(4000);
    ds = fake_dataset(&fake);
    *p = (struct pipeline){
        .dataset = &ds,
        .max_batches = BATCHES,
        .warmup_batches = WARM,
        .loader = {.num_workers = 1, .prefetch_factor = 4, .pin_memory = true},
        .device = {.prefetch = 1, .step_ms = step_ms, .host_busy_frac = host_busy_frac}};
    pipeline_run(p);
    assert_int_equal(p->rc, DLB_OK);
}

static void each_step_has_its_cpu_time(void **state)
{
    struct pipeline without, with;
    (void)state;
    run(4, 0, &without);
    run(4, 0.8, &with);
    const struct dlb_hist *host = &with.out->consumer[DLB_CS_HOST];
    double planted_ns = 3.2e6 * (double)(BATCHES + WARM);

    assert_int_equal(without.out->consumer[DLB_CS_HOST].count, 0);
    assert_true(host->count >= BATCHES);
    assert_true((double)host->sum_ns >= 0.98 * 3.2e6 * (double)host->count);
    assert_true((double)with.out->cpu_ns >= 0.98 * planted_ns);
    /* One more step begins than is measured; what the loop does besides is spinning before ends. */
    assert_true((double)with.out->cpu_ns <=
                1.1 * planted_ns + 2 * (double)without.out->cpu_ns + 2 * 3.2e6);
    pipeline_free(&without);
    pipeline_free(&with);
}

/* 4 ms of CPU time for each step of 1 ms, which is more than the option allows. */
static void a_slow_loop_makes_the_device_wait(void **state)
{
    struct pipeline p;
    (void)state;
    run(1, 4, &p);
    const struct dlb_share *total = &p.out->total;
    assert_true((double)total->window_ns >= 0.95 * 4e6 * (double)total->n_steps);
    assert_true((double)total->busy_ns <= 0.27 * (double)total->window_ns);
    pipeline_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_has_its_cpu_time),
        cmocka_unit_test(a_slow_loop_makes_the_device_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
