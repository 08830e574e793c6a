/* A job that is suspended: silence counts only while somebody looks. */
#include "core/base/pause.h"
#include "scenarios/run/child.h"
#include "tests/support/folder.h"
#include "tests/support/scripted.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define S DLB_NS_PER_S

static void test_pauses(void **state)
{
    (void)state;
    assert_int_equal(dlb_pause_ns(0, 90 * S), 0); /* nobody has looked yet */
    assert_int_equal(dlb_pause_ns(90 * S, 90 * S + DLB_PAUSE_NS - 1), 0);
    assert_int_equal(dlb_pause_ns(90 * S, 400 * S), 310 * S);
    assert_int_equal(dlb_pause_later(80 * S, 310 * S, 400 * S), 390 * S);
    assert_int_equal(dlb_pause_later(95 * S, 310 * S, 400 * S), 400 * S); /* not in the future */
}

/* It stops this process for longer than it may be silent, and ends well a little later. */
static const char stops_its_parent[] = "(sleep 2; kill -CONT $PPID) & kill -STOP $PPID; sleep 2.4\n"
                                       "echo '{\"status\": \"ok\", \"window_ns\": 5}' >\"$result\"";

static void test_a_pause_is_no_hang(void **state)
{
    (void)state;
    static const char *const lead[] = {"dlbench", "cell", NULL};
    struct dlb_cell_result result;
    struct dlb_err err;
    json_t *config = json_object();
    char exe[512];
    (void)snprintf(exe, sizeof(exe), "%s", folder_path("cell"));
    assert_int_equal(scripted_write(exe, stops_its_parent), 0);
    const struct dlb_child how = {
        .exe = exe, .lead = lead, .config = config, .scratch = folder, .stall_ns = 7 * S / 10};
    assert_int_equal(dlb_child_run(&how, false, &result, &err), DLB_OK);
    assert_int_equal(result.status, DLB_REP_OK);
    dlb_cell_result_free(&result);
    json_decref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses),
        cmocka_unit_test_setup_teardown(test_a_pause_is_no_hang, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
