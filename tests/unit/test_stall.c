/* How long a cell may give no sign. */
#include "scenarios/run/stall.h"

#include "core/base/clock.h"
#include "tests/support/judged.h"

static uint64_t stall_ns(const char *setting)
{
    struct judged t;
    open_judged(&t, (const char *[]){setting, "loader.timeout_s=0", NULL});
    uint32_t at = 0;
    while (t.plan.tasks[at].kind != DLB_TASK_CELL)
        at++;
    uint64_t ns = dlb_stall_ns(&t.plan, &t.plan.tasks[at]);
    close_judged(&t);
    return ns;
}

/* A GPU's limit ends before the cell's own; without a limit nothing ends it. */
static void test_hangs_of_a_gpu(void **state)
{
    (void)state;
    assert_int_equal(stall_ns("device.hang_s=1000") - stall_ns("device.hang_s=10"),
                     990 * DLB_NS_PER_S);
    assert_int_equal(stall_ns("device.hang_s=0"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hangs_of_a_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
