/* How busy all CPUs are, how much of them others have, and how fast they copy. */
#include "core/host/membw.h"
#include "core/host/osacct.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void test_shares(void **state)
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
    /* 10 of them were given to others; what a kernel does not tell is not known. */
    assert_true(fabs(dlb_os_stolen_frac(&a, &b) - 10.0 / 110) < 1e-12);
    assert_true(fabs(dlb_os_stolen_ns(&a, &b) - 10e9 / (double)sysconf(_SC_CLK_TCK)) < 1);
    assert_true(isnan(dlb_os_stolen_ns(&old, &a)) && isnan(dlb_os_stolen_ns(&a, &missing)));
    assert_true(dlb_os_busy_frac(&old, &a) > 0 && isnan(dlb_os_stolen_frac(&old, &a)));
    assert_true(isnan(dlb_os_stolen_frac(&old, &old)) && isnan(dlb_os_stolen_frac(&a, &missing)));
    b.all_ticks = a.all_ticks + 99; /* one would be more than 1% */
    assert_true(isnan(dlb_os_stolen_frac(&a, &b)) && dlb_os_busy_frac(&a, &b) > 0);
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
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
