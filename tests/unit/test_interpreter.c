/* An interpreter that does not answer: slow while its stamps rise, hung when they do not. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "loaders/torch/interpreter.h"
#include "tests/support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <string.h>

#include <cmocka.h>

static void stamp(uint64_t number)
{
    folder_write("stamps", &number, sizeof number);
}

static struct dlb_interpreter ready(void)
{
    struct dlb_interpreter self = {.link = {.fd = -1}};

    (void)snprintf(self.folder, sizeof self.folder, "%s", folder_path("."));
    self.link.about = dlb_json_made(json_pack("{si}", "stamp_words", 1));
    return self;
}

static void slow_while_stamps_rise(void **state)
{
    (void)state;
    struct dlb_pulse pulse = {.stall_ns = DLB_NS_PER_S};
    struct dlb_interpreter_how how = {.pulse = &pulse};
    struct dlb_interpreter self = ready();
    uint64_t since_ns = dlb_now_ns() - 10 * DLB_NS_PER_S;
    struct dlb_err err;

    stamp(1);
    assert_int_equal(dlb_interpreter_patience(&self, &how, since_ns, 0, &err), DLB_OK);
    assert_int_equal(pulse.n_signs, 1);
    assert_int_not_equal(dlb_interpreter_patience(&self, &how, since_ns, 5, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_PYTHON_HANGS);

    stamp(2);
    self.alive.looked_ns = 0;
    assert_int_equal(dlb_interpreter_patience(&self, &how, since_ns, 0, &err), DLB_OK);
    assert_int_equal(pulse.n_signs, 2);
    json_decref(self.link.about);
}

static void hung_when_stamps_stand_still(void **state)
{
    (void)state;
    struct dlb_pulse pulse = {.stall_ns = DLB_NS_PER_S};
    struct dlb_interpreter_how how = {.pulse = &pulse};
    struct dlb_interpreter self = ready();
    uint64_t since_ns = dlb_now_ns() - 10 * DLB_NS_PER_S;
    struct dlb_err err;

    stamp(7);
    self.alive.sum = 7;
    assert_int_not_equal(dlb_interpreter_patience(&self, &how, since_ns, 0, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_PYTHON_HANGS);
    assert_int_equal(pulse.n_signs, 0);
    json_decref(self.link.about);
}

/* This process itself stands for one that imports: it uses CPU time, but not without end. */
static void imports_take_their_time_but_not_without_end(void **state)
{
    (void)state;
    struct dlb_pulse pulse = {.stall_ns = DLB_NS_PER_S};
    struct dlb_interpreter_how how = {.pulse = &pulse};
    struct dlb_interpreter self = {.link = {.fd = -1, .keeper = {.program = getpgrp()}}};
    uint64_t now_ns = dlb_now_ns(), since_ns = now_ns - 10 * DLB_NS_PER_S;
    struct dlb_err err;

    self.alive.start_ns = now_ns;
    assert_int_equal(dlb_interpreter_patience(&self, &how, since_ns, 0, &err), DLB_OK);
    assert_int_equal(pulse.n_signs, 1);

    self.alive.start_ns = now_ns - (DLB_IMPORT_LIMIT_S + 1) * DLB_NS_PER_S;
    self.alive.looked_ns = self.alive.moved_ns = self.alive.sum = 0;
    assert_int_not_equal(dlb_interpreter_patience(&self, &how, since_ns, 0, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_PYTHON_HANGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slow_while_stamps_rise, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(hung_when_stamps_stand_still, folder_make, folder_remove),
        cmocka_unit_test(imports_take_their_time_but_not_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
