/* Tails against values of printed tables. */
#include "core/measure/tail.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_close(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%.9g is not %.9g", value, wanted);
}

static void test_f(void **state)
{
    (void)state;
    /* The 5% and 1% points of F tables. */
    assert_close(dlb_f_tail(161.448, 1, 1), 0.05, 1e-5);
    assert_close(dlb_f_tail(4.9646, 1, 10), 0.05, 1e-5);
    assert_close(dlb_f_tail(3.3258, 5, 10), 0.05, 1e-5);
    assert_close(dlb_f_tail(5.6363, 5, 10), 0.01, 1e-5);
    assert_close(dlb_f_tail(2.0984, 15, 22), 0.0565, 2e-3);
    assert_close(dlb_f_tail(0, 3, 4), 1, 0);
    assert_close(dlb_f_tail(1, 7, 7), 0.5, 1e-9);
    assert_true(dlb_f_tail(1e9, 3, 4) < 1e-12);
    assert_true(isnan(dlb_f_tail((double)NAN, 3, 4)));
}

static void test_t(void **state)
{
    (void)state;
    assert_close(dlb_t_95(1), 12.7062, 1e-3);
    assert_close(dlb_t_95(2), 4.3027, 1e-4);
    assert_close(dlb_t_95(5), 2.5706, 1e-4);
    assert_close(dlb_t_95(30), 2.0423, 1e-4);
    assert_close(dlb_t_95(1e6), 1.95997, 1e-4);
    assert_close(dlb_t_beyond(0.5, 1), 1, 1e-9);
    assert_close(dlb_t_beyond(0.01, 1), 63.6567, 1e-3);
    assert_close(dlb_t_beyond(0.01, 10), 3.1693, 1e-4);
    assert_close(dlb_t_beyond(0.001, 4), 8.6103, 1e-4);
    assert_close(dlb_t_beyond(1e-6, 1), 636619.77, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f), cmocka_unit_test(test_t)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
