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

/* An interpreter that was asked 10 s ago, in a cell that is killed after 1 s without a sign. */
static struct dlb_pulse pulse;
static struct dlb_interpreter_how how = {.pulse = &pulse};
static struct dlb_interpreter self;
static uint64_t asked_ns;

static int setup(void **state)
{
    pulse = (struct dlb_pulse){.stall_ns = DLB_NS_PER_S};
    self = (struct dlb_interpreter){.link = {.fd = -1}};
    self.link.about = dlb_json_made(json_pack("{si}", "stamp_words", 1));
    asked_ns = dlb_now_ns() - 10 * DLB_NS_PER_S;
    int rc = folder_make(state);
    (void)snprintf(self.folder, sizeof self.folder, "%s", folder);
    return rc;
}

static int teardown(void **state)
{
    json_decref(self.link.about);
    return folder_remove(state);
}

/* DLB_N_CODES: it is waited for. */
static void expect(double limit_s, enum dlb_code code, uint64_t n_signs)
{
    struct dlb_err err = {.code = DLB_N_CODES};

    (void)dlb_interpreter_patience(&self, &how, asked_ns, limit_s, &err);
    assert_int_equal(err.code, code);
    assert_int_equal(pulse.n_signs, n_signs);
}

static void slow_while_stamps_rise(void **state)
{
    (void)state;
    stamp(1);
    expect(0, DLB_N_CODES, 1);
    expect(5, DLB_ERR_PYTHON_HANGS, 1);

    stamp(2);
    self.alive.looked_ns = 0;
    expect(0, DLB_N_CODES, 2);
}

static void hung_when_stamps_stand_still(void **state)
{
    (void)state;
    stamp(7);
    self.alive.sum = 7;
    expect(0, DLB_ERR_PYTHON_HANGS, 0);
}

/* This process itself stands for one that imports: it uses CPU time, but not without end. */
static void imports_take_their_time_but_not_without_end(void **state)
{
    uint64_t now_ns = dlb_now_ns();

    (void)state;
    json_decref(self.link.about);
    self.link.about = NULL;
    self.link.keeper.program = getpgrp();
    self.alive.start_ns = now_ns;
    expect(0, DLB_N_CODES, 1);

    self.alive.start_ns = now_ns - (DLB_IMPORT_LIMIT_S + 1) * DLB_NS_PER_S;
    self.alive.looked_ns = self.alive.moved_ns = self.alive.sum = 0;
    expect(0, DLB_ERR_PYTHON_HANGS, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slow_while_stamps_rise, setup, teardown),
        cmocka_unit_test_setup_teardown(hung_when_stamps_stand_still, setup, teardown),
        cmocka_unit_test_setup_teardown(imports_take_their_time_but_not_without_end, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
