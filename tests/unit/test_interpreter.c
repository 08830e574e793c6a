/* An interpreter that does not answer: slow while its stamps rise, hung when they do not; one that
 * cannot be run; and its keeper, killed and stopped. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "loaders/torch/interpreter.h"
#include "tests/support/folder.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

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

/* The first failure of an interpreter that was just started. */
static enum dlb_code failure(struct dlb_link *link, const char *interpreter, const char *script)
{
    json_t *setup = dlb_json_made(json_object());
    struct dlb_link_answer answer;
    struct dlb_err err;
    bool got;

    int rc = dlb_link_open(link, interpreter, script, true, setup, &err);
    json_decref(setup);
    if (rc == DLB_OK) /* or it had ended before it was sent the settings */
        rc = dlb_link_wait(link, 60 * DLB_NS_PER_S, &answer, &got, &err);
    assert_int_not_equal(rc, DLB_OK);
    return err.code;
}

static void what_keeps_it_from_being_run_is_told(void **state)
{
    (void)state;
    char path[512];
    struct dlb_link link;

    (void)snprintf(path, sizeof path, "%s", folder_path("python3"));
    folder_write("python3", "#!/nowhere/python3\n", 19);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(failure(&link, path, "dlbench_serve.py"), DLB_ERR_PYTHON_NOT_FOUND);
    assert_int_equal(link.keeper.error, ENOENT);
    dlb_link_close(&link);
}

/* What it writes shows that it has a child, which has the channel, too. */
static void a_killed_keeper_takes_the_group_with_it(void **state)
{
    (void)state;
    static const char script[] = "sleep 1000 & echo >&3; sleep 1000";
    char path[512];
    struct dlb_link link;
    struct dlb_link_answer answer;
    struct dlb_err err;
    bool got;

    (void)snprintf(path, sizeof path, "%s", folder_path("serve.sh"));
    folder_write("serve.sh", script, sizeof script - 1);
    assert_int_equal(failure(&link, "/bin/sh", path), DLB_ERR_PYTHON_GARBAGE);
    pid_t group = link.keeper.program;
    assert_int_equal(kill(link.keeper.pid, SIGKILL), 0);
    assert_int_not_equal(dlb_link_wait(&link, 60 * DLB_NS_PER_S, &answer, &got, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_PYTHON_ENDED);
    while (kill(-group, 0) == 0) /* a hang here fails by the test's limit */
        (void)usleep(1000);
    dlb_link_close(&link);
}

/* The channel to an interpreter that said why it ended, before the question that this answers. */
static struct dlb_link told(int *other)
{
    static const uint64_t failed = DLB_LINK_FAILED;
    static const char why[] = "{\"code\": \"PYTHON_RAISED\", \"reason\": \"it is broken\"}";
    char packet[sizeof failed + sizeof why - 1];
    int ends[2];

    memcpy(packet, &failed, sizeof failed);
    memcpy(packet + sizeof failed, why, sizeof why - 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_true(send(ends[1], packet, sizeof packet, 0) == sizeof packet);
    *other = ends[1];
    return (struct dlb_link){.fd = ends[0], .interpreter = "python3", .keeper.told_fd = -1};
}

static void what_it_said_is_told_though_it_ended_before_the_question(void **state)
{
    (void)state;
    struct dlb_err err;
    int other;
    struct dlb_link link = told(&other);

    assert_int_equal(close(other), 0);
    assert_int_not_equal(dlb_link_ask(&link, DLB_LINK_NEXT, 0, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_PYTHON_RAISED);
    assert_int_equal(close(link.fd), 0);
}

static void what_it_said_is_told_though_it_did_not_read_the_question(void **state)
{
    (void)state;
    struct dlb_err err;
    struct dlb_link_answer answer;
    bool got;
    int other;
    struct dlb_link link = told(&other);

    assert_int_equal(dlb_link_ask(&link, DLB_LINK_NEXT, 0, &err), DLB_OK);
    assert_int_equal(close(other), 0);
    assert_int_not_equal(dlb_link_wait(&link, DLB_NS_PER_S, &answer, &got, &err), DLB_OK);
    assert_int_equal(err.code, DLB_ERR_PYTHON_RAISED);
    assert_int_equal(close(link.fd), 0);
}

static void a_stopped_keeper_ends_it(void **state)
{
    (void)state;
    char *const argv[] = {"/bin/sleep", "1000", NULL};
    struct dlb_keeper keeper;
    struct dlb_err err;

    assert_int_equal(dlb_keeper_start(&keeper, argv, dup(0), true, &err), DLB_OK);
    pid_t program = keeper.program;
    assert_int_equal(kill(keeper.pid, SIGSTOP), 0);
    assert_true(dlb_keeper_end(&keeper, 0));
    assert_int_not_equal(kill(program, 0), 0);
}

/* A later keeper holds no descriptor of an earlier one, which would not see its end of the pipe
 * close. */
static void several_end_one_after_the_other(void **state)
{
    (void)state;
    char *const argv[] = {"/bin/sleep", "1000", NULL};
    struct dlb_keeper keeper[3];
    struct dlb_err err;

    for (int i = 0; i < 3; i++)
        assert_int_equal(dlb_keeper_start(&keeper[i], argv, dup(0), true, &err), DLB_OK);
    for (int i = 0; i < 3; i++)
        assert_true(dlb_keeper_end(&keeper[i], 0));
}

/* The cell's threads have another one, which the user's program must not inherit. */
static void its_timers_are_the_systems(void **state)
{
    (void)state;
    char *const argv[] = {"/bin/sh", "-c", "cat /proc/self/timerslack_ns >&3", NULL};
    char text[32] = "";
    struct dlb_keeper keeper;
    struct dlb_err err;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(prctl(PR_SET_TIMERSLACK, 1UL), 0);
    assert_int_equal(dlb_keeper_start(&keeper, argv, ends[1], true, &err), DLB_OK);
    assert_int_equal(close(ends[1]), 0);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_int_equal(strtol(text, NULL, 10), 50000);
    assert_true(dlb_keeper_end(&keeper, DLB_NS_PER_S));
    assert_int_equal(close(ends[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slow_while_stamps_rise, setup, teardown),
        cmocka_unit_test_setup_teardown(hung_when_stamps_stand_still, setup, teardown),
        cmocka_unit_test_setup_teardown(imports_take_their_time_but_not_without_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_keeps_it_from_being_run_is_told, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_killed_keeper_takes_the_group_with_it, folder_make,
                                        folder_remove),
        cmocka_unit_test(what_it_said_is_told_though_it_ended_before_the_question),
        cmocka_unit_test(what_it_said_is_told_though_it_did_not_read_the_question),
        cmocka_unit_test(a_stopped_keeper_ends_it),
        cmocka_unit_test(several_end_one_after_the_other),
        cmocka_unit_test(its_timers_are_the_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
