/* How busy all CPUs are, and how fast they copy. */
#include "bench/host/membw.h"
#include "bench/host/osacct.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_busy_share(void **state)
{
    (void)state;
    struct dlb_os_machine a = dlb_os_machine_parse("cpu  10 20 30 400 50 6 7 8 5 5\ncpu0 1 2 3"),
                          b = dlb_os_machine_parse("cpu  20 30 40 420 80 16 17 18 0 0\n"),
                          old = dlb_os_machine_parse("cpu 10 20 30 400\n"),
                          none = dlb_os_machine_parse("intr 4 5 6"),
                          missing = dlb_os_machine_parse(NULL);
    assert_int_equal(a.busy_ticks, 81);
    assert_int_equal(a.all_ticks, 531);
    assert_int_equal(old.all_ticks, 460);
    /* 60 busy ticks, 20 idle ones, 30 of waiting for I/O. */
    assert_true(fabs(dlb_os_busy_frac(&a, &b) - 60.0 / 110) < 1e-12);
    assert_true(isnan(dlb_os_busy_frac(&b, &a)));
    assert_true(isnan(dlb_os_busy_frac(&a, &a)));
    assert_true(isnan(dlb_os_busy_frac(&none, &b)));
    assert_true(isnan(dlb_os_busy_frac(&a, &missing)));
}

static void test_this_machine(void **state)
{
    (void)state;
    struct dlb_os_machine now;
    dlb_os_machine(&now);
    if (now.all_ticks != DLB_NOT_MEASURED)
        assert_true(now.busy_ticks <= now.all_ticks);
    assert_true(dlb_os_ram_bytes() == 0 || dlb_os_ram_bytes() > 1 << 20);
    assert_true(dlb_memory_bytes_per_s(2) > 0);
    assert_true(isnan(dlb_memory_bytes_per_s(0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy_share),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
